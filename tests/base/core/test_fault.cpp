#include "core/fault.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

void set(const std::string& name) { set_fault(name, 30, "load", 0); }

}  // namespace

TEST_CASE("every fault has a name and says what it does; one that there is not is refused") {
  for (const std::string& name : fault_names()) {
    set(name);
    CHECK((fault_sentence(fault_setting()).empty()) == (name == "none"));
  }
  set("none");
  CHECK_THAT(error_of([] { set("no_evnt"); }), says("no_evnt") && says("run.fault") && says("no_event"));
}

TEST_CASE("faults of uploads and of captured graphs do not show on a CPU, all others do") {
  for (const std::string& name : fault_names()) {
    const bool of_uploads =
        name == "pageable" || name == "default_stream_copy" || name == "no_event" || name == "host_normalise";
    const bool of_graphs =
        name == "item_in_capture" || name == "stale_input" || name == "no_warmup" || name == "lr_baked_in";
    set(name);
    CHECK(shows_on_cpu(fault_setting().fault) == !(of_uploads || of_graphs));
  }
  set("none");
}
