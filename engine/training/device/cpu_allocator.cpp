#include "device/cpu_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "device/memory_ledger.h"

namespace isobar {
namespace {

constexpr std::size_t kAlignment = 64;  // what libtorch's kernels count on (c10::gAlignment)

/// What stands right before the aligned part: malloc aligns to 16 bytes, so there are at least as many.
struct BlockHead {
  std::uint64_t number;        ///< BlockTag::number
  std::uint64_t bytes : 48;    ///< bytes that were asked for
  std::uint64_t category : 8;  ///< MemoryCategory
  std::uint64_t distance : 8;  ///< bytes from the start of the block that malloc gave
};
static_assert(sizeof(BlockHead) == 16);

void give_back(void* aligned) {
  if (aligned == nullptr) return;
  const BlockHead head = static_cast<const BlockHead*>(aligned)[-1];
  host_ledger().give_back({head.bytes, static_cast<MemoryCategory>(head.category), head.number});
  std::free(static_cast<std::byte*>(aligned) - head.distance);
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
    const std::uintptr_t place = (start / kAlignment + 1) * kAlignment;
    void* const aligned = static_cast<std::byte*>(block) + (place - start);
    const BlockTag tag = host_ledger().take(bytes);
    static_cast<BlockHead*>(aligned)[-1] = {.number = tag.number,
                                            .bytes = bytes & ((std::uint64_t{1} << 48) - 1),
                                            .category = static_cast<std::uint8_t>(tag.category),
                                            .distance = static_cast<std::uint8_t>(place - start)};
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
