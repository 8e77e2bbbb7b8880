#include "device/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/machine.h"
#include "core/nvidia.h"
#include "core/processors.h"
#include "core/text.h"
#include "device/barrier_waits.h"
#include "device/cpu_allocator.h"
#include "device/load_cuda.h"
#include "device/torch_error.h"

namespace isobar {
namespace {

int cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  int index = -1;
  const char* end = name.data() + name.size();
  const auto parsed =
      name.size() > 5 ? std::from_chars(name.data() + 5, end, index) : std::from_chars_result{};
  if (name[4] != ':' || parsed.ec != std::errc() || parsed.ptr != end || index < 0 || index > 127) {
    throw Error(fmt::format("\"{}\" is not a device", name), "run.device",
                "auto, cpu, cuda, or cuda:0, cuda:1, ...");
  }
  return index;
}

c10::Device cuda_device(int index) {
  require_cuda(index);
  if (!at::hasCUDA()) {
    throw Error("libtorch finds no CUDA device, though the driver does", fmt::format("cuda:{}", index),
                "the plugin and the libtorch of this program may come from two builds; ./isobar --cuda setup",
                Exit::failed);
  }
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  try {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(device);
  } catch (const c10::Error& error) {
    throw as_error(error);
  }
  return device;
}

}  // namespace

std::string automatic_device_kind() { return cuda_is_usable() ? "cuda" : "cpu"; }

c10::Device choose_device(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (name == "auto") return cuda_is_usable() ? cuda_device(0) : c10::Device(c10::kCPU);
  if (name.rfind("cuda", 0) == 0) return cuda_device(cuda_index(name));
  throw Error(fmt::format("\"{}\" is not a device", name), "run.device",
              "auto, cpu, cuda, or cuda:0, cuda:1, ...");
}

namespace {

/// A step frees and asks for the same large blocks again and again. By default the C library hands them back
/// to the system, which clears them anew: thousands of page faults a step.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most it takes; larger blocks are rare
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

int set_up_cpu(int threads, int sharers) {
  keep_freed_memory();
  use_fitting_cpu_blocks();
  const int count = processors_here().threads(threads, sharers).count;
  at::set_num_threads(count);
  adapt_barrier_waits(count);
  at::globalContext().setDeterministicAlgorithms(true, false);
  // With repeatable algorithms at::empty would fill every new tensor with NaN; nothing here reads before it
  // writes.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  return at::get_num_threads();
}

bool set_deterministic(Determinism wanted, c10::Device device) {
  const bool strict = wanted == Determinism::yes || (wanted == Determinism::automatic && device.is_cpu());
  at::globalContext().setDeterministicAlgorithms(strict, false);
  return strict;
}

std::string device_text(c10::Device device) {
  if (!device.is_cuda()) {
    const std::string kernels = cpu_capability();
    return fmt::format("{}, {} kernels{}", cpu_name(), kernels,
                       kernels == "DEFAULT" ? ", several times slower than with AVX2" : "");
  }
  const CudaFacts facts = cuda_plugin().facts();
  const CudaDeviceFacts& cuda = facts.devices.at(static_cast<std::size_t>(device.index()));
  const std::string driver = nvidia_driver_version();
  return fmt::format("{}, {}{}", printable(cuda.name),
                     human_bytes(static_cast<std::uint64_t>(cuda.memory_bytes)),
                     driver.empty() ? "" : ", driver " + driver);
}

std::string cpu_capability() { return at::get_cpu_capability(); }

}  // namespace isobar
