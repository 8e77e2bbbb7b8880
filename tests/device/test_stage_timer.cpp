// The device's clock in stage timers, on a device whose clock the test moves.
#include <catch2/catch.hpp>
#include <optional>

#include "device/fake_plugin.h"
#include "device/stage_timer.h"

using namespace isobar;

namespace {

std::int64_t of(const StageTimes& times, Stage stage) {
  return times.stage_us[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("finishing a step waits for nothing, and its times are ready when the device has passed its end") {
  const FakePlugin device;
  EventPool events(device, 0);
  StageTimer timer(&events);
  timer.enter(Stage::forward);
  device.launch(300);
  timer.enter(Stage::backward);
  device.launch(500.4);
  timer.leave();
  device.launch(20);
  timer.enter(Stage::forward);
  device.launch(100);
  PendingStageTimes pending = timer.finish();
  CHECK(device.waits() == 0);
  CHECK_FALSE(pending.ready());
  device.work(900);
  CHECK_FALSE(pending.ready());
  device.work(100);
  CHECK(pending.ready());
  const StageTimes times = pending.take();
  CHECK(device.waits() == 0);
  CHECK(of(times, Stage::forward) == 400);
  CHECK(of(times, Stage::backward) == 500);
  CHECK(times.rest_us == 20);
  CHECK(times.step_us == 920);
  CHECK(times.entered[static_cast<std::size_t>(Stage::backward)]);
  CHECK_FALSE(times.entered[static_cast<std::size_t>(Stage::load)]);
  CHECK(times.step_host_us < 900);  // the host did nothing for it
}

TEST_CASE("times that are asked for too early wait for the device") {
  const FakePlugin device;
  EventPool events(device, 0);
  StageTimer timer(&events);
  timer.enter(Stage::copy);
  device.launch(70);
  const StageTimes times = timer.finish().take();
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
