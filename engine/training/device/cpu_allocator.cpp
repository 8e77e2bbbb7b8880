#include "device/cpu_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace isobar {
namespace {

constexpr std::size_t kAlignment = 64;  // what libtorch's kernels count on (c10::gAlignment)

/// The start of the block that malloc gave stands right before the aligned part.
void give_back(void* aligned) {
  if (aligned != nullptr) std::free(static_cast<void**>(aligned)[-1]);
}

class FittingBlocks : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::kCPU);
    if (bytes == 0) return {nullptr, nullptr, &give_back, cpu};
    const std::size_t whole = bytes + kAlignment;
    void* const block = whole > bytes ? std::malloc(whole) : nullptr;
    if (block == nullptr) {
      c10::GetDefaultCPUAllocator()->allocate(
          bytes);  // fails as well, and its error names how much was asked for
      throw std::bad_alloc();
    }
    const auto start = reinterpret_cast<std::uintptr_t>(block);
    // malloc aligns to 16 bytes, so there are at least 16 before the next cache line begins.
    const std::uintptr_t place = (start / kAlignment + 1) * kAlignment;
    void* const aligned = static_cast<std::byte*>(block) + (place - start);
    static_cast<void**>(aligned)[-1] = block;
    return {aligned, aligned, &give_back, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void use_fitting_cpu_blocks() {
  static FittingBlocks blocks;
  c10::SetCPUAllocator(&blocks, /*priority=*/1);
}

}  // namespace isobar
