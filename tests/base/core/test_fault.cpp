#include "core/fault.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("every fault has a name and says what it does; one that there is not is refused") {
  for (const std::string& name : fault_names()) {
    const FaultRow& row = row_of(fault_named(name));
    CHECK(row.name == name);
    CHECK(fault_sentence({.fault = row.fault}).empty() == (name == "none"));
    CHECK((row.made_by == MadeBy::nothing) == (name == "none"));
  }
  CHECK_THAT(error_of([] { fault_named("no_evnt"); }),
             says("no_evnt") && says("run.fault") && says("no_event"));
}

TEST_CASE("a sentence holds the values of the keys that its fault takes, and steps are counted from 1") {
  const auto sentence = [](const char* name) {
    return fault_sentence({fault_named(name), 40, "comm", 7, 3});
  };
  CHECK(sentence("slow_stage") == "40 ms are added to the stage comm");
  CHECK(sentence("slow_loader") == "each batch takes longer to read (40 ms)");
  CHECK(sentence("nan_weight") == "a weight becomes NaN in step 8");
  CHECK(sentence("stop_rank") == "one rank stops answering (rank 3, stage comm of step 8)");
  CHECK(row_of(Fault::flip_bit).takes("rank"));
  CHECK_FALSE(row_of(Fault::flip_bit).takes("ms"));
}

TEST_CASE("faults of uploads and of captured graphs do not show on a CPU, all others do") {
  for (const std::string& name : fault_names()) {
    const bool of_uploads =
        name == "pageable" || name == "default_stream_copy" || name == "no_event" || name == "host_normalise";
    const bool of_graphs =
        name == "item_in_capture" || name == "stale_input" || name == "no_warmup" || name == "lr_baked_in";
    CHECK(shows_on_cpu(fault_named(name)) == !(of_uploads || of_graphs));
  }
}
