#include "kernels/gradient_norm.h"
#include "kernels/piece.cuh"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kGroup = 4;   // values that stay together wherever the buffer lies: the order of the sum is one
constexpr int kRounds = 4;  // groups that a thread has on their way at once

/// Sums of a block, in double: counts are exact up to 2^53.
struct Sums {
  double squares;
  double nonfinite;
};

__device__ Sums block_sums(Sums mine) {
  __shared__ Sums part[kWarps];
  mine = {warp_sum(mine.squares), warp_sum(mine.nonfinite)};
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
  __syncthreads();
  Sums out = {};
  for (int warp = 0; warp < kWarps; ++warp) {
    out.squares += part[warp].squares;
    out.nonfinite += part[warp].nonfinite;
  }
  return out;
}

/// Four values from `at`; those behind `n` are zero. `kWidth` of them are loaded at once.
template <int kWidth>
__device__ Piece<float, kGroup> load_group(const float* values, std::int64_t at, std::int64_t n) {
  if (kWidth == kGroup && at + kGroup <= n)
    return *reinterpret_cast<const Piece<float, kGroup>*>(values + at);
  Piece<float, kGroup> out;
#pragma unroll
  for (int i = 0; i < kGroup; ++i) out.values[i] = at + i < n ? values[at + i] : 0.0F;
  return out;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) piece_kernel(const GradientNorm job) {
  const RowRange groups = rows_of_piece((job.n + kGroup - 1) / kGroup, blockIdx.x, gridDim.x);
  double squares = 0;
  unsigned int nonfinite = 0;  // one thread's: fewer than 2^32 of 2^50 values
  for (std::int64_t group = groups.begin + threadIdx.x; group < groups.end; group += kThreads * kRounds) {
    Piece<float, kGroup> loaded[kRounds];
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      loaded[round] = {};
      const std::int64_t at = group + round * kThreads;
      if (at < groups.end) loaded[round] = load_group<kWidth>(job.gradients, at * kGroup, job.n);
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const float value = loaded[round].values[i];
        squares += static_cast<double>(value) * static_cast<double>(value);
        nonfinite += (__float_as_uint(value) & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
      }
    }
  }
  const Sums sums = block_sums({squares, static_cast<double>(nonfinite)});
  if (threadIdx.x != 0) return;
  job.scratch[2 * blockIdx.x] = sums.squares;
  job.scratch[2 * blockIdx.x + 1] = sums.nonfinite;
}

__global__ void __launch_bounds__(kThreads) finish_kernel(const GradientNorm job) {
  constexpr std::int64_t kEach = kGradientNormPieces / kThreads;
  Sums mine = {};
  for (std::int64_t i = 0; i < kEach; ++i) {
    const std::int64_t piece = threadIdx.x * kEach + i;
    mine.squares += job.scratch[2 * piece];
    mine.nonfinite += job.scratch[2 * piece + 1];
  }
  const Sums sums = block_sums(mine);
  if (threadIdx.x != 0) return;
  *job.sum_of_squares = sums.squares;
  *job.nonfinite = static_cast<std::int64_t>(sums.nonfinite);
}

}  // namespace

void gradient_norm_cuda(const GradientNorm& job, CUstream_st* stream) {
  constexpr const char* kName = "the launch of gradient_norm";
  const auto blocks = static_cast<unsigned int>(kGradientNormPieces);
  const auto kernel = is_aligned(job.gradients, 16) ? piece_kernel<kGroup> : piece_kernel<1>;
  launch(kName, kernel, blocks, kThreads, stream, job);
  launch(kName, finish_kernel, 1, kThreads, stream, job);
}

}  // namespace isobar
