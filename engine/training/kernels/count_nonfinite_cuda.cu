#include <algorithm>

#include "kernels/count_nonfinite.h"
#include "kernels/launch.cuh"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1024;  // fills any device; more only add to the one counter more often

__device__ unsigned int is_nonfinite(unsigned int bits) {
  return (bits & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
}

/// Each thread strides over 16-byte pieces; what lies before the first and behind the last whole piece is
/// left to the first threads of the grid. `head` values come before the first piece.
__global__ void count_nonfinite_kernel(const unsigned int* __restrict__ bits, std::int64_t head,
                                       std::int64_t pieces, std::int64_t n, unsigned long long* counter) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const uint4* const whole = reinterpret_cast<const uint4*>(bits + head);
  unsigned int count = 0;
  for (std::int64_t i = index; i < pieces; i += stride) {
    const uint4 piece = whole[i];
    count += is_nonfinite(piece.x) + is_nonfinite(piece.y) + is_nonfinite(piece.z) + is_nonfinite(piece.w);
  }
  const std::int64_t behind = head + 4 * pieces;
  if (index < head) count += is_nonfinite(bits[index]);
  if (index < n - behind) count += is_nonfinite(bits[behind + index]);
  const unsigned int in_warp = __reduce_add_sync(0xffffffffU, count);
  if (threadIdx.x % 32 == 0 && in_warp != 0) atomicAdd(counter, static_cast<unsigned long long>(in_warp));
}

}  // namespace

void count_nonfinite_cuda(const float* values, std::int64_t n, std::int64_t* counter, CUstream_st* stream) {
  if (n <= 0) return;
  const auto misplaced =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(values) % 16 / sizeof(float));
  const std::int64_t head = std::min(n, (4 - misplaced) % 4);
  const std::int64_t pieces = (n - head) / 4;
  const std::int64_t blocks = std::clamp<std::int64_t>((pieces + kThreads - 1) / kThreads, 1, kMostBlocks);
  launch("the launch of count_nonfinite", count_nonfinite_kernel, static_cast<unsigned int>(blocks), kThreads,
         stream, reinterpret_cast<const unsigned int*>(values), head, pieces, n,
         reinterpret_cast<unsigned long long*>(counter));
}

}  // namespace isobar
