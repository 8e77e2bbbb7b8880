// The device's clock in stage timers, on a device whose clock the test moves.
#include <optional>

#include "core/clock.h"
#include "device/fake_plugin.h"
#include "device/stage_timer.h"
#include "support/catch.h"
#include "support/event_clock.h"

namespace isobar::test_stage_timer {

namespace {

std::int64_t of(const StageTimes& times, Stage stage) {
  return times.stage_us[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("finishing a step waits for nothing, and its times are ready when the device has passed its end") {
  const EventClock standing(1);
  const FakePlugin device;
  EventPool events(device, 0);
  StageTimer timer(&events);
  timer.enter(Stage::forward);
  device.launch(300'000);
  timer.enter(Stage::backward);
  device.launch(500'000.4);
  timer.leave();
  device.launch(20'000);
  timer.enter(Stage::forward);
  device.launch(100'000);
  PendingStageTimes pending = timer.finish();
  CHECK(device.waits() == 0);
  CHECK_FALSE(pending.ready());
  device.work(900'000);
  CHECK_FALSE(pending.ready());
  device.work(100'000);
  CHECK(pending.ready());
  const DeviceTimes times = pending.take();
  CHECK(device.waits() == 0);
  CHECK(of(times, Stage::forward) == 400'000);
  CHECK(of(times, Stage::backward) == 500'000);
  CHECK(times.rest_us == 20'000);
  CHECK(times.step_us == 920'000);
  CHECK(times.entered[static_cast<std::size_t>(Stage::backward)]);
  CHECK_FALSE(times.entered[static_cast<std::size_t>(Stage::load)]);
  CHECK(times.host.step_us == 0);  // the host did nothing for it
}

TEST_CASE("times that are asked for too early wait for the device") {
  const FakePlugin device;
  EventPool events(device, 0);
  StageTimer timer(&events);
  timer.enter(Stage::copy);
  device.launch(70);
  const DeviceTimes times = timer.finish().take();
  CHECK(device.waits() > 0);
  CHECK(of(times, Stage::copy) == 70);
}

TEST_CASE("steps in flight keep their events, and finished ones give them back, taken or not") {
  const FakePlugin device;
  EventPool events(device, 0);
  std::size_t made = 0;
  for (int round = 0; round < 20; ++round) {
    StageTimer first(&events);
    first.enter(Stage::forward);
    device.launch(10);
    std::optional<PendingStageTimes> one = first.finish();
    StageTimer second(&events);
    second.enter(Stage::forward);
    device.launch(30);
    PendingStageTimes two = second.finish();
    CHECK(of(two.take(), Stage::forward) == 30);
    if (round % 2 == 0) {
      CHECK(of(one->take(), Stage::forward) == 10);
    } else {
      one.reset();
    }
    if (round == 0) made = device.events_made();
  }
  CHECK(device.events_made() == made);
}

TEST_CASE("a handle can be moved, and the one moved from holds nothing") {
  const FakePlugin device;
  EventPool events(device, 0);
  StageTimer timer(&events);
  timer.enter(Stage::optimize);
  device.launch(40);
  PendingStageTimes first = timer.finish();
  PendingStageTimes second = std::move(first);
  CHECK_FALSE(second.ready());
  StageTimer other(&events);
  second = other.finish();  // what it held goes back to the pool
  CHECK(second.take().step_us == 0);
}

TEST_CASE("a stage that is entered several times has several intervals, and they sum to its time") {
  const EventClock clock(1);
  StageTimer timer(nullptr, /*keeps_intervals=*/true);
  const std::int64_t before_us = steady_us();
  const auto pause = [] { sleep_us(2000); };
  for (const Stage stage : {Stage::load, Stage::forward, Stage::backward, Stage::forward}) {
    timer.enter(stage);
    pause();
  }
  timer.leave();
  pause();  // belongs to no stage
  timer.enter(Stage::optimize);
  PendingStageTimes pending = timer.finish();
  const std::vector<StageInterval> intervals = pending.intervals();
  const DeviceTimes times = pending.take();
  REQUIRE(intervals.size() == 5);
  CHECK(intervals[3].stage == Stage::forward);
  CHECK(intervals[0].begin_us == before_us);
  CHECK(intervals[4].begin_us == before_us + 10'000);
  CHECK(intervals[4].end_us == before_us + 10'000);
  CHECK(intervals[4].begin_us - intervals[3].end_us == 2000);
  std::array<std::int64_t, kStageNames.size()> sums{};
  for (const StageInterval& interval : intervals) {
    sums[static_cast<std::size_t>(interval.stage)] += interval.end_us - interval.begin_us;
  }
  CHECK(sums == times.stage_us);
}

TEST_CASE("a timer that was not asked for intervals keeps none") {
  StageTimer timer;
  timer.enter(Stage::forward);
  CHECK(timer.finish().intervals().empty());
}

TEST_CASE("intervals of the device lie on the host's clock, in the order and with the lengths of its work") {
  const EventClock standing(1);
  const FakePlugin device;
  EventPool events(device, 0);
  const std::int64_t before_us = steady_us();
  const DeviceClock clock(events);  // the device's clock stands at 0 all the while
  const std::int64_t after_us = steady_us();
  CHECK(clock.error_us() <= after_us - before_us);
  device.launch(5000);  // of an earlier step
  StageTimer timer(&events, true);
  timer.enter(Stage::forward);
  device.launch(300);
  timer.enter(Stage::backward);
  device.launch(500);
  timer.leave();
  device.launch(20);
  timer.enter(Stage::optimize);
  device.launch(100);
  PendingStageTimes pending = timer.finish();
  const std::vector<StageInterval> intervals = pending.device_intervals(clock);
  REQUIRE(intervals.size() == 3);
  const std::int64_t begin_us = intervals[0].begin_us;
  CHECK(begin_us >= before_us + 5000);
  CHECK(begin_us <= after_us + 5000);
  const std::array<std::int64_t, 6> offsets = {0, 300, 300, 800, 820, 920};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(intervals[i].begin_us - begin_us == offsets[2 * i]);
    CHECK(intervals[i].end_us - begin_us == offsets[2 * i + 1]);
  }
  CHECK(intervals[1].stage == Stage::backward);
  CHECK(pending.take().step_us == 920);  // and the sums are still there
  CHECK(StageTimer(nullptr, true).finish().device_intervals(clock).empty());
}

TEST_CASE("the reference of the device's clock keeps one event") {
  const FakePlugin device;
  EventPool events(device, 0);
  { const DeviceClock clock(events); }
  const std::size_t made = device.events_made();
  for (int i = 0; i < 5; ++i) const DeviceClock clock(events);
  CHECK(device.events_made() == made);
  CHECK(made <= 2);
}

}  // namespace isobar::test_stage_timer
