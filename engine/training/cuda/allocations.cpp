#include "cuda/allocations.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace isobar {

void watch_allocations(AllocationWatch& watch) {
  using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // before it there is no allocator to attach to
  c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker([&watch](const Entry& entry) {
    const auto* const block = reinterpret_cast<const void*>(entry.addr_);
    if (entry.action_ == Entry::ALLOC) watch.took(entry.device_, block, entry.size_);
    if (entry.action_ == Entry::FREE_REQUESTED) watch.gave_back(entry.device_, block, entry.size_);
  });
}

}  // namespace isobar
