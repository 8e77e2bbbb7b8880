#pragma once
// Sums over rows, in the order that kernels/column_sums.h fixes: a kernel sums each piece of rows into its
// scratch, then this one adds up the pieces.
#include "kernels/column_sums.h"
#include "kernels/piece.cuh"

namespace isobar {

inline constexpr int kSumLanes = 8;     // each adds up an eighth of the pieces, then the eighths are added
inline constexpr int kSumColumns = 32;  // a block

/// Where `finish_column_sums` writes; null: that sum is not wanted.
struct ColumnSums {
  float* sums[3];
};

/// Block (x, s): columns 32 x .. 32 x + 31 of out.sums[s], from scratch[s][piece][column].
static __global__ void __launch_bounds__(kSumLanes* kSumColumns)
    finish_column_sums_kernel(const float* scratch, std::int64_t columns, int pieces, ColumnSums out) {
  __shared__ float part[kSumLanes][kSumColumns];
  const auto lane = static_cast<int>(threadIdx.y);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  // With places that are known, or the three pointers would be copied to local memory.
  float* const to = blockIdx.y == 0 ? out.sums[0] : blockIdx.y == 1 ? out.sums[1] : out.sums[2];
  if (to == nullptr) return;  // the whole block
  float sum = 0;
  if (column < columns) {
    const float* const from = scratch + static_cast<std::int64_t>(blockIdx.y) * pieces * columns + column;
#pragma unroll 4
    for (int piece = pieces * lane / kSumLanes; piece < pieces * (lane + 1) / kSumLanes; ++piece) {
      sum += from[piece * columns];
    }
  }
  part[lane][threadIdx.x] = sum;
  __syncthreads();
  if (lane != 0 || column >= columns) return;
  for (int other = 1; other < kSumLanes; ++other) sum += part[other][threadIdx.x];
  to[column] = sum;
}

/// Adds up `count` matrices [pieces, columns] that lie one behind the other in `scratch`.
inline void finish_column_sums(const char* name, const float* scratch, std::int64_t columns,
                               std::int64_t pieces, const ColumnSums& out, int count, CUstream_st* stream) {
  const auto blocks = static_cast<unsigned int>((columns + kSumColumns - 1) / kSumColumns);
  launch(name, finish_column_sums_kernel, dim3(blocks, static_cast<unsigned int>(count)),
         dim3(kSumColumns, kSumLanes), stream, scratch, columns, static_cast<int>(pieces), out);
}

}  // namespace isobar
