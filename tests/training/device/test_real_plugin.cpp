// The plugin as it was built: it loads on a machine without a GPU, and says that there is none.
#include <ATen/Context.h>
#include <ATen/ops/ones.h>

#include "core/nvidia.h"
#include "device/device.h"
#include "device/load_cuda.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("the plugin of this build is found beside the program and loads") {
  CHECK(std::filesystem::equivalent(cuda_plugin_file(), REAL_PLUGIN));
  const CudaPlugin& plugin = load_cuda_plugin(cuda_plugin_file());
  const CudaFacts facts = plugin.facts();
  CHECK(facts.runtime_version / 1000 == 13);
  CHECK(at::globalContext()
            .hasCUDART());  // libtorch sees its CUDA libraries: it was first asked after they were there
  CHECK(at::ones({3}).sum().item<float>() == 3);
  if (has_nvidia_driver()) return;
  CHECK(facts.driver_version == 0);
  CHECK(facts.devices.empty());
  CHECK_FALSE(at::hasCUDA());
  CHECK_THAT(error_of([&] { check_cuda_device(facts, 0, ""); }), says("no NVIDIA driver"));
  // An Error of the plugin is an Error here: it names the call and what its code means.
  CHECK_THAT(error_of([&] { plugin.create_event(); }, Exit::failed),
             says("cudaEventCreateWithFlags failed: ") && says("cudaError") && says("run.device=cpu"));
  CHECK_THAT(error_of([&] { plugin.allocate_pinned(100); }, Exit::failed), says("cudaHostAlloc failed: "));
  CHECK_THAT(error_of([&] { plugin.memory_now(0); }, Exit::failed), says("cudaGetDevice failed: "));
  std::int64_t counter = 0;
  const float value = 0;
  CHECK_THAT(error_of([&] { plugin.count_nonfinite(&value, 1, &counter, nullptr); }, Exit::failed),
             says("count_nonfinite failed: "));
  const DeviceFields batch = {.fields = &value, .samples = 1, .channels = 1, .plane = 1};
  CHECK_THAT(error_of([&] { plugin.normalise(batch, FieldOutput::f32, nullptr); }, Exit::failed),
             says("the launch of normalise failed: "));
  CHECK_THAT(
      error_of([&] { plugin.unpack(batch, PackedField::i16, FieldOutput::bf16, nullptr); }, Exit::failed),
      says("the launch of unpack failed: "));
  const DeviceFields many = {.samples = std::int64_t{1} << 31, .channels = 1, .plane = 1};
  CHECK_THAT(error_of([&] { plugin.normalise(many, FieldOutput::f32, nullptr); }, Exit::failed),
             says("more than one launch can number"));
  CHECK_NOTHROW(plugin.normalise({}, FieldOutput::f32, nullptr));
  float copy = 0;
  CHECK_THAT(error_of([&] { plugin.upload(&copy, &value, sizeof value, nullptr); }, Exit::failed),
             says("cudaMemcpyAsync failed: "));
  plugin.push_range("nobody looks");  // without a profiler these do nothing, on any machine
  plugin.pop_range();
  plugin.start_profiler();
  plugin.stop_profiler();
  CHECK_NOTHROW(plugin.count_nonfinite(&value, 0, &counter, nullptr));  // nothing to do is no launch
}
