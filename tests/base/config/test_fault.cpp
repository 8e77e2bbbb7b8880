#include "config/fault.h"
#include "support/catch.h"
#include "support/named.h"

using namespace isobar;
using testing::named;

TEST_CASE("every fault has a name and says what it does; one that there is not is refused") {
  for (const std::string name : choices_of(Fault{})) {
    const FaultRow& row = row_of(named<Fault>(name));
    CHECK(row.name == name);
    CHECK(fault_sentence({.fault = row.fault}).empty() == (name == "none"));
    CHECK((row.made_by == MadeBy::nothing) == (name == "none"));
  }
  CHECK_FALSE(choice_named<Fault>("no_evnt"));
}

TEST_CASE("a sentence holds the values of the keys that its fault takes, and steps are counted from 1") {
  const auto sentence = [](const char* name) {
    return fault_sentence({named<Fault>(name), 40, FaultStage::comm, 7, 3});
  };
  CHECK(sentence("slow_stage") == "40 ms are added to the stage comm");
  CHECK(sentence("slow_loader") == "each batch takes longer to read (40 ms)");
  CHECK(sentence("nan_weight") == "a weight becomes NaN in step 8");
  CHECK(sentence("stop_rank") == "one rank stops answering (rank 3, stage comm of step 8)");
  CHECK(row_of(Fault::flip_bit).takes("rank"));
  CHECK_FALSE(row_of(Fault::flip_bit).takes("ms"));
}

TEST_CASE("faults of uploads and of captured graphs do not show on a CPU, all others do") {
  for (const std::string name : choices_of(Fault{})) {
    const bool of_uploads =
        name == "pageable" || name == "default_stream_copy" || name == "no_event" || name == "host_normalise";
    const bool of_graphs =
        name == "item_in_capture" || name == "stale_input" || name == "no_warmup" || name == "lr_baked_in";
    CHECK(shows_on_cpu(named<Fault>(name)) == !(of_uploads || of_graphs));
  }
}
