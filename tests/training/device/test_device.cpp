#include <ATen/Context.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "core/nvidia.h"
#include "core/processors.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/nonfinite.h"
#include "device/stage_timer.h"
#include "device/stream.h"
#include "device/torch_error.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/says.h"

namespace isobar::test_device {

namespace {

std::int64_t of(const StageTimes& times, Stage stage) {
  return times.stage_us[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("stages add up over any number of entries, and with the rest they sum to the step") {
  const EventClock clock(1);
  StageTimer timer;
  timer.enter(Stage::load);
  sleep_us(4000);
  timer.enter(Stage::forward);
  sleep_us(2000);
  timer.enter(Stage::load);  // a second time: micro-batches do that
  sleep_us(4001);
  timer.leave();
  sleep_us(3000);  // the rest
  timer.enter(Stage::optimize);
  const DeviceTimes times = timer.finish().take();
  CHECK(of(times, Stage::load) == 8001);
  CHECK(of(times, Stage::forward) == 2000);
  CHECK(of(times, Stage::backward) == 0);
  CHECK(times.rest_us == 3000);
  CHECK(times.step_us == 13'001);
  CHECK(times.entered[static_cast<std::size_t>(Stage::optimize)]);
  CHECK_FALSE(times.entered[static_cast<std::size_t>(Stage::comm)]);
  CHECK(times.host.stage_us == times.stage_us);  // on a CPU both clocks are one
  CHECK(times.host.rest_us == times.rest_us);
  CHECK(times.host.step_us == times.step_us);
}

TEST_CASE("devices that are not there are refused in words") {
  CHECK(choose_device("cpu").is_cpu());
  if (!has_nvidia_driver()) {
    CHECK(choose_device("auto").is_cpu());
    CHECK(automatic_device_kind() == "cpu");
    CHECK_THAT(error_of([] { choose_device("cuda"); }), says("no CUDA device") && says("run.device=cpu"));
    CHECK_THAT(error_of([] { choose_device("cuda:3"); }), says("cuda:3"));
  }
  for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda3", "gpu", ""}) {
    CHECK_THAT(error_of([&] { choose_device(name); }), says("is not a device"));
  }
}

TEST_CASE("what is deterministic by default is so where it costs nothing") {
  set_up_cpu(1);
  const c10::Device cpu(c10::kCPU), cuda(c10::kCUDA, 0);
  const auto strict = [](Determinism wanted, c10::Device device) {
    const bool out = set_deterministic(wanted, device);
    CHECK(at::globalContext().deterministicAlgorithms() == out);
    return out;
  };
  CHECK(strict(Determinism::automatic, cpu));
  CHECK_FALSE(strict(Determinism::automatic, cuda));
  CHECK(strict(Determinism::yes, cuda));
  CHECK_FALSE(strict(Determinism::no, cpu));
  CHECK_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  set_up_cpu(1);
  CHECK(at::globalContext().deterministicAlgorithms());
}

TEST_CASE("new tensors are not filled before they are written") {
  set_up_cpu(1);
  CHECK(at::globalContext().deterministicAlgorithms());
  CHECK_FALSE(at::globalContext().deterministicFillUninitializedMemory());
}

TEST_CASE("tensors on the CPU begin a cache line, and too large a one says how much was asked for") {
  set_up_cpu(1);
  for (const std::int64_t values : {1, 7, 1000, 800'000}) {
    const at::Tensor tensor = at::empty({values}, at::kFloat);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64 == 0);
    at::Tensor grown = tensor.clone();
    grown.resize_({values + 9}).fill_(1);
    CHECK(grown.sum().item<float>() == static_cast<float>(values + 9));
  }
  CHECK(at::empty({0}).const_data_ptr() == nullptr);
  CHECK_THROWS_WITH(at::empty({std::int64_t{1} << 50}), says("tried to allocate"));
}

TEST_CASE("blocks that tensors gave back are taken again by tensors of their size") {
  set_up_cpu(1);
  std::vector<at::Tensor> stay;  // what keeps the heap from growing together again
  const auto fill = [&] {
    std::vector<at::Tensor> gone;
    for (int i = 0; i < 16; ++i) {
      gone.push_back(at::ones({1'000'000}));
      stay.push_back(at::ones({100}));
    }
  };
  fill();
  const std::int64_t before = peak_bytes(c10::Device(c10::kCPU));
  for (int i = 0; i < 20; ++i) fill();
  CHECK(peak_bytes(c10::Device(c10::kCPU)) < before + 8'000'000);  // two of 336 blocks of 4 MB
}

TEST_CASE("memory of the host: a peak that grows, what is free, and buffers") {
  const c10::Device cpu(c10::kCPU);
  const std::int64_t before = peak_bytes(cpu);
  CHECK(before > 1'000'000);
  HostBuffer buffer(64'000'000, cpu);
  CHECK(buffer.bytes().size() == 64'000'000);
  CHECK(peak_bytes(cpu) >= 64'000'000);  // it was written to
  CHECK(peak_bytes(cpu) >= before);
  const FreeAndTotal memory = memory_now(cpu);
  CHECK(memory.free_bytes > 0);
  CHECK(memory.free_bytes < memory.total_bytes);
  buffer.bytes()[5] = std::byte{7};
  const std::byte* const place = buffer.bytes().data();
  HostBuffer moved = std::move(buffer);
  CHECK(moved.bytes().data() == place);
  CHECK(moved.bytes()[5] == std::byte{7});
  CHECK(moved.bytes()[6] == std::byte{0});
  CHECK(reinterpret_cast<std::uintptr_t>(place) % 4096 == 0);
  CHECK_THAT(error_of([&] { HostBuffer(std::size_t{1} << 60, cpu); }, Exit::failed), says("memory left"));
}

TEST_CASE(
    "a full device is told with what was asked for and what is free, other errors without a backtrace") {
  const auto told = [](const c10::Error& error) { return as_error(error); };
  const c10::OutOfMemoryError full({},
                                   "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 1 has a total "
                                   "capacity of 79.15 GiB of which 3.25 GiB is "
                                   "free. Process 42 has 75.90 GiB memory in use.");
  CHECK_THAT(told(full).text(),
             says("20.00 GiB more were asked for, and 3.25 GiB of 79.15 GiB are free") && says("cuda:1"));
  CHECK(told(full).code() == Exit::failed);
  CHECK_THAT(told(c10::OutOfMemoryError({}, "other words")).text(), says("out of memory: other words"));
  const std::string plain = told(c10::Error({}, "shapes differ\nand more")).text();
  CHECK_THAT(plain, says("shapes differ"));
  CHECK(plain.find("frame") == std::string::npos);
}

TEST_CASE("values that are not finite are added to a counter, and what cannot be counted is refused") {
  at::Tensor values = at::ones({3, 5});
  at::Tensor counter = at::zeros({}, at::kLong);
  add_nonfinite(values, counter);
  CHECK(counter.item<std::int64_t>() == 0);
  values[1][2] = std::numeric_limits<float>::quiet_NaN();
  values[2][4] = -std::numeric_limits<float>::infinity();
  add_nonfinite(values, counter);
  add_nonfinite(values[1], counter);
  CHECK(counter.item<std::int64_t>() == 3);
  CHECK_THROWS_AS(add_nonfinite(values.t(), counter), c10::Error);
  at::Tensor pair = at::zeros({2}, at::kLong);
  CHECK_THROWS_AS(add_nonfinite(values, pair), c10::Error);
  CHECK_THROWS_AS(add_nonfinite(values.to(at::kDouble), counter), c10::Error);
}

TEST_CASE("on the CPU a side stream is the one there is, and work on it runs in order") {
  const c10::Device cpu(c10::kCPU);
  const c10::Stream side = side_stream(cpu);
  CHECK(side == current_stream(cpu));
  const c10::StreamGuard guard(side);
  const at::Tensor sum = at::ones({3}).sum();
  keep_for(sum, side);
  CHECK(sum.item<float>() == 3);
}

TEST_CASE("threads are as many as asked for, or those of the environment and the machine") {
  CHECK(set_up_cpu(1) == 1);
  CHECK(usable_cores() >= 1);
  CHECK(set_up_cpu(0) == processors_here().threads(0).count);
}

}  // namespace isobar::test_device
