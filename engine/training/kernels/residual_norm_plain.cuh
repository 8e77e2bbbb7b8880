#pragma once
// Residual and norm for rows of any length at any place: a block a row, value by value, which reads again
// what registers do not hold. The sums over rows are a kernel of their own.
#include "kernels/column_sums.cuh"
#include "kernels/residual_norm.h"

namespace isobar {
namespace residual_norm_rows {

inline constexpr int kThreads = 256;
inline constexpr int kRowLanes = 8;
inline constexpr int kColumnLanes = 32;
inline constexpr std::int64_t kMostBlocks = 1 << 13;  // the rest is strided over

/// The sum over the block, the same bits in all its threads.
__device__ inline float block_sum(float value) {
  __shared__ float part[kThreads / 32];
  const float in_warp = warp_sum(value);
  __syncthreads();  // the last call's sums are read
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = in_warp;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += part[warp];
  return sum;
}

template <typename Value>
__global__ void __launch_bounds__(kThreads) forward_kernel(const ResidualNormForward job) {
  const float share = 1.0F / static_cast<float>(job.columns);
  for (std::int64_t row = blockIdx.x; row < job.rows; row += gridDim.x) {
    const std::int64_t begin = row * job.columns;
    const float* const values = job.a == nullptr ? job.x : job.sum;  // each thread reads what it wrote
    float sum = 0;
    for (std::int64_t i = threadIdx.x; i < job.columns; i += kThreads) {
      float value = job.x[begin + i];
      if (job.a != nullptr) {
        const float bias = job.branch_bias == nullptr ? 0.0F : job.branch_bias[i];
        value += widened(static_cast<const Value*>(job.a)[begin + i]) + bias;
        job.sum[begin + i] = value;
      }
      sum += value;
    }
    const float mean = block_sum(sum) * share;
    float squares = 0;
    for (std::int64_t i = threadIdx.x; i < job.columns; i += kThreads) {
      const float off = values[begin + i] - mean;
      squares += off * off;
    }
    const float rstd = 1.0F / sqrtf(block_sum(squares) * share + job.eps);
    if (threadIdx.x == 0) {
      job.mean[row] = mean;
      job.rstd[row] = rstd;
    }
    for (std::int64_t i = threadIdx.x; i < job.columns; i += kThreads) {
      static_cast<Value*>(job.y)[begin + i] =
          rounded<Value>((values[begin + i] - mean) * rstd * job.weight[i] + job.bias[i]);
    }
  }
}

template <typename Value>
__global__ void __launch_bounds__(kThreads) backward_kernel(const ResidualNormBackward job) {
  const float share = 1.0F / static_cast<float>(job.columns);
  for (std::int64_t row = blockIdx.x; row < job.rows; row += gridDim.x) {
    const std::int64_t begin = row * job.columns;
    const float mean = job.mean[row];
    const float rstd = job.rstd[row];
    float sum_g = 0;
    float sum_gn = 0;
    for (std::int64_t i = threadIdx.x; i < job.columns; i += kThreads) {
      const float g = widened(static_cast<const Value*>(job.dy)[begin + i]) * job.weight[i];
      sum_g += g;
      sum_gn += g * ((job.sum[begin + i] - mean) * rstd);
    }
    const float mean_g = block_sum(sum_g) * share;
    const float mean_gn = block_sum(sum_gn) * share;
    for (std::int64_t i = threadIdx.x; i < job.columns; i += kThreads) {
      const float g = widened(static_cast<const Value*>(job.dy)[begin + i]) * job.weight[i];
      const float n = (job.sum[begin + i] - mean) * rstd;
      const float direct = job.dsum == nullptr ? 0.0F : job.dsum[begin + i];
      const float value = direct + rstd * (g - mean_g - n * mean_gn);
      job.dx[begin + i] = value;
      if (job.da != nullptr) static_cast<Value*>(job.da)[begin + i] = rounded<Value>(value);
    }
  }
}

/// Block (x, p): columns 32 x .. 32 x + 31 of the rows of piece p, once dx is there.
template <typename Value>
__global__ void __launch_bounds__(kRowLanes* kColumnLanes) column_kernel(const ResidualNormBackward job) {
  __shared__ float part[3][kRowLanes][kColumnLanes];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kColumnLanes + threadIdx.x;
  const RowRange rows = rows_of_piece(job.rows, blockIdx.y, gridDim.y);
  float sums[3] = {};
  if (column < job.columns) {
    for (std::int64_t row = rows.begin + threadIdx.y; row < rows.end; row += kRowLanes) {
      const std::int64_t i = row * job.columns + column;
      const float dy = widened(static_cast<const Value*>(job.dy)[i]);
      sums[0] += dy * ((job.sum[i] - job.mean[row]) * job.rstd[row]);
      sums[1] += dy;
      sums[2] += job.dx[i];
    }
  }
  for (int s = 0; s < 3; ++s) part[s][threadIdx.y][threadIdx.x] = sums[s];
  __syncthreads();
  if (threadIdx.y != 0 || column >= job.columns) return;
  const std::int64_t matrix = gridDim.y * job.columns;
  for (int s = 0; s < 3; ++s) {
    for (int lane = 1; lane < kRowLanes; ++lane) sums[s] += part[s][lane][threadIdx.x];
    job.scratch[s * matrix + blockIdx.y * job.columns + column] = sums[s];
  }
}

}  // namespace residual_norm_rows

template <typename Value>
void residual_norm_plain(const ResidualNormForward& job, CUstream_st* stream) {
  namespace rows = residual_norm_rows;
  launch("the launch of residual_norm", rows::forward_kernel<Value>,
         static_cast<unsigned int>(std::min(job.rows, rows::kMostBlocks)), rows::kThreads, stream, job);
}

template <typename Value>
void residual_norm_plain(const ResidualNormBackward& job, CUstream_st* stream) {
  namespace rows = residual_norm_rows;
  constexpr const char* kName = "the launch of residual_norm's gradient";
  if (job.rows > 0) {
    launch(kName, rows::backward_kernel<Value>,
           static_cast<unsigned int>(std::min(job.rows, rows::kMostBlocks)), rows::kThreads, stream, job);
  }
  const auto columns = static_cast<unsigned int>((job.columns + rows::kColumnLanes - 1) / rows::kColumnLanes);
  launch(kName, rows::column_kernel<Value>, dim3(columns, static_cast<unsigned int>(row_pieces(job.rows))),
         dim3(rows::kColumnLanes, rows::kRowLanes), stream, job);
}

}  // namespace isobar
