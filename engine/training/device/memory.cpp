#include "device/memory.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "core/large_memory.h"
#include "core/memory.h"
#include "core/text.h"
#include "device/load_cuda.h"
#include "device/stream.h"

namespace isobar {
namespace {

constexpr std::int64_t kOwnShare =
    20;  // the part of a device that this process itself may have taken to begin with
constexpr auto kAllPools = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

std::atomic<std::uint64_t> bytes_of_host_tensors = 0;

FreeAndTotal host_memory() {
  const MemoryState memory = memory_state();
  return {static_cast<std::int64_t>(memory.available_bytes), static_cast<std::int64_t>(memory.total_bytes)};
}

}  // namespace

std::int64_t peak_bytes(c10::Device device) {
  if (!device.is_cuda()) return static_cast<std::int64_t>(peak_own_bytes());
  return c10::getDeviceAllocator(device.type())
      ->getDeviceStats(device.index())
      .allocated_bytes[kAllPools]
      .peak;
}

void reset_peak_bytes(c10::Device device) {
  if (device.is_cuda()) c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
}

FreeAndTotal memory_now(c10::Device device) {
  return device.is_cuda() ? cuda_plugin().memory_now(device.index()) : host_memory();
}

std::string memory_hint(c10::Device device, const FreeAndTotal& memory) {
  const std::string smaller = "a smaller train.global_batch, a smaller preset, or a larger ";
  if (!device.is_cuda())
    return smaller +
           (memory_state().is_limited ? "limit of the control group: --mem under Slurm" : "machine");
  const std::int64_t taken = memory.total_bytes - memory.free_bytes;
  if (taken < memory.total_bytes / kOwnShare) return smaller + "device";
  return fmt::format("{} of it are taken already: nvidia-smi shows by whom; or {}device",
                     human_bytes(static_cast<std::uint64_t>(taken)), smaller);
}

HostBuffer::HostBuffer(std::size_t bytes, c10::Device device) : size_(bytes) {
  if (!has_streams(device)) {
    data_ = allocate_large(bytes);
    return;
  }
  const c10::DeviceGuard guard(device);  // a thread of no device yet would wake the first one for it
  data_ = {static_cast<std::byte*>(cuda_plugin().allocate_pinned(bytes)),
           [](std::byte* pinned) { cuda_plugin().free_pinned(pinned); }};
  std::memset(data_.get(), 0, bytes);
}

at::Tensor host_tensor(std::int64_t count, c10::Device device, at::ScalarType type) {
  const std::size_t bytes = static_cast<std::size_t>(count) * c10::elementSize(type);
  auto buffer = std::make_shared<HostBuffer>(bytes, device);
  void* const data = buffer->bytes().data();
  bytes_of_host_tensors += bytes;
  const auto give_back = [buffer = std::move(buffer), bytes](void*) { bytes_of_host_tensors -= bytes; };
  return at::from_blob(data, {count}, give_back, type);
}

std::uint64_t host_tensor_bytes() { return bytes_of_host_tensors; }

}  // namespace isobar
