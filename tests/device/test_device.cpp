#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "device/device.h"
#include "device/stage_timer.h"
#include "support/errors.h"

using namespace isobar;

namespace {

void spend_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::int64_t of(const StageTimes& times, Stage stage) {
  return times.stage_us[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("stages add up over any number of entries, and with the rest they sum to the step") {
  StageTimer timer;
  timer.enter(Stage::load);
  spend_ms(4);
  timer.enter(Stage::forward);
  spend_ms(2);
  timer.enter(Stage::load);  // a second time: micro-batches do that
  spend_ms(4);
  timer.leave();
  spend_ms(3);  // the rest
  timer.enter(Stage::optimize);
  const StageTimes times = timer.finish().take();
  CHECK(of(times, Stage::load) >= 8000);
  CHECK(of(times, Stage::forward) >= 2000);
  CHECK(of(times, Stage::backward) == 0);
  CHECK(times.rest_us >= 3000);
  const std::int64_t parts_us = std::accumulate(times.stage_us.begin(), times.stage_us.end(), times.rest_us);
  CHECK(parts_us <= times.step_us);
  CHECK(parts_us >= times.step_us - 1000);  // the step is measured by a clock of its own
  CHECK(times.entered[static_cast<std::size_t>(Stage::optimize)]);
  CHECK_FALSE(times.entered[static_cast<std::size_t>(Stage::comm)]);
}

TEST_CASE("devices that are not there are refused in words") {
  CHECK(choose_device("cpu").is_cpu());
  CHECK(choose_device("auto").is_cpu());
  CHECK(automatic_device_kind() == "cpu");
  CHECK_THAT(error_of([] { choose_device("cuda"); }), says("CUDA") && says("run.device=cpu"));
  CHECK_THAT(error_of([] { choose_device("cuda:3"); }), says("cuda:3"));
  for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda3", "gpu", ""}) {
    CHECK_THAT(error_of([&] { choose_device(name); }), says("is not a device"));
  }
}

TEST_CASE("precision is what the device has") {
  const c10::Device cpu(c10::kCPU);
  const c10::Device cuda(c10::kCUDA, 0);
  CHECK(choose_precision("auto", cpu) == "none");
  CHECK(choose_precision("auto", cuda) == "tf32");
  CHECK(choose_precision("none", cuda) == "none");
  CHECK_THAT(error_of([&] { choose_precision("tf32", cpu); }), says("TF32 exists on CUDA"));
}

TEST_CASE("threads are as many as asked for, or every core this process may use") {
  CHECK(set_up_cpu(1) == 1);
  CHECK(usable_cores() >= 1);
  CHECK(set_up_cpu(0) == usable_cores());
}
