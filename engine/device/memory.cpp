#include "device/memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>

#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

constexpr std::align_val_t kPage{4096};
constexpr auto kAllPools = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

FreeAndTotal host_memory() {
  const MemoryState memory = memory_state();
  return {static_cast<std::int64_t>(memory.available_bytes), static_cast<std::int64_t>(memory.total_bytes)};
}

}  // namespace

std::int64_t peak_resident_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * 1024 : 0;
}

std::int64_t peak_bytes(c10::Device device) {
  if (!device.is_cuda()) return peak_resident_bytes();
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

HostBuffer::HostBuffer(std::size_t bytes, c10::Device device) : size_(bytes), pinned_(device.is_cuda()) {
  if (pinned_) {
    data_ = static_cast<std::byte*>(cuda_plugin().allocate_pinned(bytes));
  } else {
    data_ = static_cast<std::byte*>(::operator new(bytes, kPage, std::nothrow));
    if (data_ == nullptr) {
      throw Error("there is no " + human_bytes(bytes) + " of memory left", "a host buffer",
                  "a smaller batch or a shorter ring needs less", Exit::failed);
    }
  }
  std::memset(data_, 0, bytes);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      pinned_(other.pinned_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  pinned_ = other.pinned_;
  return *this;
}

HostBuffer::~HostBuffer() { release(); }

void HostBuffer::release() noexcept {
  if (data_ == nullptr) return;
  if (pinned_) {
    cuda_plugin().free_pinned(data_);
  } else {
    ::operator delete(data_, kPage);
  }
}

}  // namespace isobar
