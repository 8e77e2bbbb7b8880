#pragma once
// Blocks that tensors take on CUDA devices, as libtorch's caching allocator gives them out.
#include <cstddef>

namespace isobar {

/// Hears of each block. Called with the allocator's lock held: it must neither allocate on a device nor wait
/// for a thread that does.
class AllocationWatch {
 public:
  virtual void took(int device, const void* block, std::size_t bytes) noexcept = 0;
  /// The block is asked back; where other streams still use it, memory is free a little later.
  virtual void gave_back(int device, const void* block, std::size_t bytes) noexcept = 0;

 protected:
  ~AllocationWatch() = default;
};

/// `watch` hears of every block from now on, on the devices that are there, and lives as long as the process.
/// Sets up what libtorch has for CUDA where nothing did before. `bytes` are those that were asked for,
/// without what the allocator rounds up.
void watch_allocations(AllocationWatch& watch);

}  // namespace isobar
