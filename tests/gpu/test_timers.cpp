#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "core/clock.h"
#include "device/device.h"
#include "device/peak.h"
#include "device/precision.h"
#include "device/stage_timer.h"
#include "gpu/gpu.h"
#include "gpu/spin.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constexpr std::int64_t kRounding_us =
    10;  // events have steps of half a microsecond, a step has a dozen of them

std::int64_t of(const StageTimes& times, Stage stage) {
  return times.stage_us[static_cast<std::size_t>(stage)];
}

std::int64_t parts(const StageTimes& times) {
  return std::accumulate(times.stage_us.begin(), times.stage_us.end(), times.rest_us);
}

}  // namespace

TEST_CASE("a kernel's time on the device appears in its stage only, and stages and rest sum to the step") {
  EventPool events(kGpu);
  spin(10, gpu_stream());  // the first launch loads the kernel, and waits while it does
  current_stream(kGpu).synchronize();
  StageTimer timer(&events);
  timer.enter(Stage::forward);
  spin(20'000, gpu_stream());
  timer.enter(Stage::backward);
  spin(60'000, gpu_stream());
  timer.enter(Stage::forward);
  spin(20'000, gpu_stream());
  timer.enter(Stage::optimize);
  const DeviceTimes times = timer.finish().take();
  CHECK(of(times, Stage::forward) >= 40'000);
  CHECK(of(times, Stage::forward) < of(times, Stage::backward));
  CHECK(of(times, Stage::backward) >= 60'000);
  CHECK(of(times, Stage::optimize) < 20'000);
  CHECK(times.rest_us < 20'000);
  CHECK(std::abs(parts(times) - times.step_us) <= kRounding_us);
  CHECK(times.host.step_us < times.step_us);  // the host only asked for it
}

TEST_CASE("while the host works and the device has nothing to do, the stage grows on both clocks") {
  EventPool events(kGpu);
  current_stream(kGpu).synchronize();
  StageTimer timer(&events);
  timer.enter(Stage::load);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  timer.enter(Stage::forward);
  spin(5000, gpu_stream());
  const DeviceTimes times = timer.finish().take();
  CHECK(of(times, Stage::load) >= 29'000);  // two clocks, of which one may run a little slower
  CHECK(times.host.stage_us[static_cast<std::size_t>(Stage::load)] >= 30'000);
}

TEST_CASE("finishing a step does not wait for a kernel in flight") {
  EventPool events(kGpu);
  StageTimer timer(&events);
  timer.enter(Stage::forward);
  spin(1'000'000, gpu_stream());
  PendingStageTimes pending = timer.finish();
  CHECK_FALSE(pending.ready());
  const DeviceTimes times = pending.take();
  CHECK(of(times, Stage::forward) >= 1'000'000);
  CHECK(times.host.step_us < times.step_us);
}

TEST_CASE(
    "work of the device lies on the host's clock between when it was asked for and when it was waited for") {
  EventPool events(kGpu);
  spin(10, gpu_stream());
  const DeviceClock clock(events);
  INFO("host and device are known to " << clock.error_us() << " us");
  CHECK(clock.error_us() < 1000);
  const std::int64_t slack_us = clock.error_us() + kRounding_us;
  for (int round = 0; round < 20; ++round) {
    const std::int64_t asked_us = steady_us();
    StageTimer timer(&events, /*keeps_intervals=*/true);
    timer.enter(Stage::forward);
    spin(2000, gpu_stream());
    timer.enter(Stage::optimize);
    spin(1000, gpu_stream());
    PendingStageTimes pending = timer.finish();
    const std::vector<StageInterval> intervals = pending.device_intervals(clock);
    const std::int64_t waited_us = steady_us();
    REQUIRE(intervals.size() == 2);
    CHECK(intervals[0].begin_us >= asked_us - slack_us);
    CHECK(intervals[0].end_us - intervals[0].begin_us >= 2000);
    CHECK(intervals[1].begin_us == intervals[0].end_us);
    CHECK(intervals[1].end_us <= waited_us + slack_us);
  }
}

TEST_CASE("the measured peak is that of the precision in force") {
  apply_precision(AmpMode::none);
  const double fp32 = measure_peak_flops(kGpu);
  apply_precision(AmpMode::tf32);
  const double tf32 = measure_peak_flops(kGpu);
  apply_precision(AmpMode::none);
  INFO("fp32 " << fp32 * 1e-12 << " TFLOP/s, tf32 " << tf32 * 1e-12);
  CHECK(fp32 > 1e12);
  CHECK(tf32 > 2 * fp32);  // data sheets say 8 times for an A100, 7 for an H100
}
