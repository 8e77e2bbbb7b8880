// Times and the distance between host and device: what a step is charged with on the device's clock, and how
// far the host goes ahead.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "device/stage_timer.h"
#include "device/stream.h"
#include "run/made_run.h"
#include "support/temp_folder.h"
#include "training/streams/checked_device.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

/// One operator that takes so long.
void work(at::Tensor& x, double us) {
  device().takes(us);
  x.add_(1);
}

}  // namespace

TEST_CASE("stages last as long as the device was at them, whatever the host does meanwhile") {
  check_right([] {
    device().stand_still();
    at::Tensor x = at::zeros({8}, on_host_device());
    EventPool events(kHostDevice);
    StageTimer timer(&events);
    timer.enter(Stage::forward);
    work(x, 300);
    timer.enter(Stage::backward);
    for (int i = 0; i < 2; ++i) work(x, 350);
    timer.leave();
    work(x, 20);
    PendingStageTimes pending = timer.finish();
    CHECK_FALSE(pending.ready());
    const DeviceTimes times = pending.take();
    CHECK(times.stage_us[static_cast<std::size_t>(Stage::forward)] == 300);
    CHECK(times.stage_us[static_cast<std::size_t>(Stage::backward)] == 700);
    CHECK(times.rest_us == 20);
    CHECK(times.step_us == 1020);
  });
}

TEST_CASE("what another stream does is charged to the stage that waits for it") {
  check_right([] {
    at::Tensor x = at::zeros({8}, on_host_device());
    EventPool events(kHostDevice);
    const c10::Stream main = c10::Stream(device().stream(kHostDevice, 0).handle());
    const c10::Stream side = device().stream(kHostDevice, 1).handle();
    StageTimer timer(&events);
    timer.enter(Stage::forward);
    work(x, 100);
    c10::Event there(main.device_type());
    there.record(main);
    there.block(side);
    c10::Event back(main.device_type());
    {
      const c10::StreamGuard guard(side);
      work(x, 500);
      back.record(side);
    }
    timer.enter(Stage::comm);
    back.block(main);
    timer.enter(Stage::optimize);
    work(x, 50);
    const DeviceTimes times = timer.finish().take();
    CHECK(times.stage_us[static_cast<std::size_t>(Stage::forward)] == 100);
    CHECK(times.stage_us[static_cast<std::size_t>(Stage::comm)] == 500);
    CHECK(times.stage_us[static_cast<std::size_t>(Stage::optimize)] == 50);
  });
}

namespace {

constexpr int kSteps = 40;
constexpr std::size_t kPiecesAStep = 10;
/// Two that the device is still to do, and the one that it is being asked for, with its events.
constexpr std::size_t kThreeSteps = 3 * (kPiecesAStep + 10);
constexpr int kWatched = 5;  // by then the step is over that is watched operator by operator

/// Steps of a recorded run; the device does only what is waited for.
void recorded_steps(const std::filesystem::path& folder) {
  Config config = made_config(kSteps);
  config.train.report_every = 1000;
  MadeRun run(folder, config, {}, kHostDevice);
  at::Tensor x = at::zeros({8}, on_host_device());
  current_stream(kHostDevice).synchronize();
  device().stand_still();
  for (int i = 0; i < kSteps; ++i) {
    if (i == kWatched + 3) device().allow_outstanding(kThreeSteps);
    Step step = run.recorder.begin_step();
    step.enter(Stage::forward);
    for (std::size_t piece = 0; piece < kPiecesAStep; ++piece) x.add_(1);
    step.finish({.loss = x.sum(), .learning_rate = 1e-3, .samples = 2, .epoch = 0});
  }
  run.recorder.record_done_steps(/*wait_for_all=*/true);
}

}  // namespace

TEST_CASE("the host goes two steps ahead of the device, and no further") {
  const TempFolder folder;
  int runs = 0;
  check_right([&] { recorded_steps(folder / std::to_string(runs++)); }, 2);
}

TEST_CASE("run-ahead: steps whose end is only asked for, and never waited for") {
  check_wrong("run-ahead", [] {
    device().stand_still();
    device().allow_outstanding(kThreeSteps);
    EventPool events(kHostDevice);
    at::Tensor x = at::zeros({8}, on_host_device());
    std::vector<PendingStageTimes> pending;
    for (int i = 0; i < kSteps; ++i) {
      StageTimer timer(&events);
      timer.enter(Stage::forward);
      for (std::size_t piece = 0; piece < kPiecesAStep; ++piece) x.add_(1);
      pending.push_back(timer.finish());
      if (pending.front().ready()) pending.erase(pending.begin());
    }
    for (PendingStageTimes& times : pending) times.take();
  });
}
