#include <optional>

#include "device/fake_plugin.h"
#include "device/ranges.h"
#include "support/catch.h"

using namespace isobar;

namespace {

using Names = std::vector<std::string>;

/// What a profiler is told in `epochs` epochs of three steps, from step `from` on.
Names profiled(std::int64_t epoch, std::int64_t from, std::int64_t steps) {
  const FakePlugin device;
  EpochProfiler profiler(&device, epoch);
  for (std::int64_t step = from; step < steps; ++step) {
    profiler.begin_step(step, 3);
    device.push_range(std::to_string(step).c_str());
    profiler.end_step(step, 3);
  }
  return device.ranges();
}

}  // namespace

TEST_CASE("a step and its stages are ranges with the tutorial's names, each closed before the next") {
  const FakePlugin device;
  {
    StepRanges ranges(&device, 17);
    for (const Stage stage : {Stage::load, Stage::copy, Stage::forward, Stage::backward, Stage::optimize}) {
      ranges.enter(stage);
    }
    ranges.finish();
    CHECK(device.ranges() == Names{"step 17", "load", "-", "data copy in 17", "-", "forward", "-", "backward",
                                   "-", "optimizer", "-", "-"});
  }
  CHECK(device.ranges().size() == 12);  // closed once
}

TEST_CASE("a step that an error ends closes its ranges too, and one without stages its own") {
  const FakePlugin device;
  { const StepRanges ranges(&device, 0); }
  CHECK(device.ranges() == Names{"step 0", "-"});
  try {
    StepRanges ranges(&device, 1);
    ranges.enter(Stage::forward);
    throw 1;
  } catch (int) {
  }
  CHECK(device.ranges() == Names{"step 0", "-", "step 1", "forward", "-", "-"});
  StepRanges nobody(nullptr, 2);
  nobody.enter(Stage::load);
  nobody.finish();
  CHECK(device.ranges().size() == 6);
}

TEST_CASE("a profiler keeps the steps of one epoch") {
  CHECK(profiled(2, 0, 9) == Names{"0", "1", "2", "profile", "3", "4", "5", "stop", "6", "7", "8"});
  CHECK(profiled(1, 0, 4) == Names{"profile", "0", "1", "2", "stop", "3"});
  CHECK(profiled(2, 4, 7) == Names{"profile", "4", "5", "stop", "6"});  // resumed within it
  CHECK(profiled(0, 0, 4) == Names{"0", "1", "2", "3"});
  CHECK(profiled(9, 0, 4) == Names{"0", "1", "2", "3"});
  const FakePlugin device;
  {
    EpochProfiler ends_early(&device, 1);
    ends_early.begin_step(0, 3);
  }
  CHECK(device.ranges() == Names{"profile", "stop"});
  EpochProfiler no_epochs(&device, 1);
  no_epochs.begin_step(0, 0);
  EpochProfiler nobody(nullptr, 1);
  nobody.begin_step(0, 3);
  nobody.end_step(2, 3);
  CHECK(device.ranges().size() == 2);
}
