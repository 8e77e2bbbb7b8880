#include "kernels/column_sums.cuh"
#include "kernels/residual_norm.h"
#include "kernels/residual_norm_plain.cuh"

namespace isobar {
namespace {

constexpr int kWarps = 4;  // warps of a block in the forward pass, each with a row of its own
constexpr int kBackwardWarps = 8;
constexpr int kLane = 4;                       // values that a lane holds of each 128 of a row
constexpr int kPiece = 32 * kLane;             // values of a row that a warp moves at once
constexpr std::int64_t kMostBlocks = 1 << 13;  // the rest is strided over

using Four = Piece<float, kLane>;

__device__ Four load_four(const float* row, std::int64_t piece) {
  return reinterpret_cast<const Four*>(row)[piece * 32 + threadIdx.x];
}

/// A row is held in registers: `kPieces` times four values a lane, of which those behind the row are left
/// out.
template <typename Value, int kPieces>
__global__ void __launch_bounds__(32 * kWarps) forward_kernel(const ResidualNormForward job) {
  using Values = Piece<Value, kLane>;
  const std::int64_t fours = job.columns / kLane;
  const auto lane = static_cast<std::int64_t>(threadIdx.x);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  const float share = 1.0F / static_cast<float>(job.columns);
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.y; row < job.rows;
       row += stride) {
    const std::int64_t begin = row * fours;
    Four v[kPieces];
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (k * 32 + lane < fours) v[k] = reinterpret_cast<const Four*>(job.x)[begin + k * 32 + lane];
    }
    if (job.a != nullptr) {
      Values a[kPieces];
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        if (k * 32 + lane < fours) a[k] = static_cast<const Values*>(job.a)[begin + k * 32 + lane];
      }
#pragma unroll
      for (int k = 0; k < kPieces; ++k) {
        if (k * 32 + lane >= fours) continue;
        Four bias = {};
        if (job.branch_bias != nullptr) bias = load_four(job.branch_bias, k);
#pragma unroll
        for (int i = 0; i < kLane; ++i) v[k].values[i] += widened(a[k].values[i]) + bias.values[i];
        reinterpret_cast<Four*>(job.sum)[begin + k * 32 + lane] = v[k];
      }
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (k * 32 + lane >= fours) continue;
#pragma unroll
      for (int i = 0; i < kLane; ++i) sum += v[k].values[i];
    }
    const float mean = warp_sum(sum) * share;
    float squares = 0;
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (k * 32 + lane >= fours) continue;
#pragma unroll
      for (int i = 0; i < kLane; ++i) {
        const float off = v[k].values[i] - mean;
        squares += off * off;
      }
    }
    const float rstd = 1.0F / sqrtf(warp_sum(squares) * share + job.eps);
    if (lane == 0) {
      job.mean[row] = mean;
      job.rstd[row] = rstd;
    }
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      if (k * 32 + lane >= fours) continue;
      const Four weight = load_four(job.weight, k);
      const Four bias = load_four(job.bias, k);
      Values y;
#pragma unroll
      for (int i = 0; i < kLane; ++i) {
        y.values[i] = rounded<Value>((v[k].values[i] - mean) * rstd * weight.values[i] + bias.values[i]);
      }
      static_cast<Values*>(job.y)[begin + k * 32 + lane] = y;
    }
  }
}

/// What a lane has summed over the rows of its warp, for its columns.
template <int kPieces>
struct LaneSums {
  Four weight[kPieces];
  Four bias[kPieces];
  Four branch[kPieces];
};

/// One row of the backward pass; adds to `sums`.
template <typename Value, int kPieces>
__device__ void backward_row(const ResidualNormBackward& job, std::int64_t row, LaneSums<kPieces>& sums) {
  using Values = Piece<Value, kLane>;
  const std::int64_t fours = job.columns / kLane;
  const auto lane = static_cast<std::int64_t>(threadIdx.x);
  const std::int64_t begin = row * fours;
  const float share = 1.0F / static_cast<float>(job.columns);
  const float mean = job.mean[row];
  const float rstd = job.rstd[row];
  Four n[kPieces];  // first the row itself
  Values dy[kPieces];
  Four direct[kPieces];  // what reaches the residual stream past the norm
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    direct[k] = {};
    if (k * 32 + lane >= fours) continue;
    n[k] = reinterpret_cast<const Four*>(job.sum)[begin + k * 32 + lane];
    dy[k] = static_cast<const Values*>(job.dy)[begin + k * 32 + lane];
    if (job.dsum != nullptr) direct[k] = reinterpret_cast<const Four*>(job.dsum)[begin + k * 32 + lane];
  }
  float sum_g = 0;
  float sum_gn = 0;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (k * 32 + lane >= fours) continue;
    const Four weight = load_four(job.weight, k);
#pragma unroll
    for (int i = 0; i < kLane; ++i) {
      const float dy_i = widened(dy[k].values[i]);
      const float n_i = (n[k].values[i] - mean) * rstd;
      n[k].values[i] = n_i;
      sums.weight[k].values[i] += dy_i * n_i;
      sums.bias[k].values[i] += dy_i;
      sum_g += dy_i * weight.values[i];
      sum_gn += dy_i * weight.values[i] * n_i;
    }
  }
  const float mean_g = warp_sum(sum_g) * share;
  const float mean_gn = warp_sum(sum_gn) * share;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    if (k * 32 + lane >= fours) continue;
    const Four weight = load_four(job.weight, k);
    Four dx;
    Values da;
#pragma unroll
    for (int i = 0; i < kLane; ++i) {
      const float g = widened(dy[k].values[i]) * weight.values[i];
      const float value = direct[k].values[i] + rstd * (g - mean_g - n[k].values[i] * mean_gn);
      sums.branch[k].values[i] += value;
      dx.values[i] = value;
      da.values[i] = rounded<Value>(value);
    }
    reinterpret_cast<Four*>(job.dx)[begin + k * 32 + lane] = dx;
    if (job.da != nullptr) static_cast<Values*>(job.da)[begin + k * 32 + lane] = da;
  }
}

/// A block takes a piece of rows, a warp every eighth of them; the warps' sums are added in their order.
template <typename Value, int kPieces>
__global__ void __launch_bounds__(32 * kBackwardWarps) backward_kernel(const ResidualNormBackward job) {
  __shared__ float part[3][kBackwardWarps][kPiece];
  const RowRange rows = rows_of_piece(job.rows, blockIdx.x, gridDim.x);
  LaneSums<kPieces> sums = {};
  for (std::int64_t row = rows.begin + threadIdx.y; row < rows.end; row += kBackwardWarps) {
    backward_row<Value, kPieces>(job, row, sums);
  }
  const int thread = static_cast<int>(threadIdx.y) * 32 + static_cast<int>(threadIdx.x);
  const std::int64_t matrix = gridDim.x * job.columns;
#pragma unroll
  for (int k = 0; k < kPieces; ++k) {
    __syncthreads();  // the sums of the piece before are read
#pragma unroll
    for (int i = 0; i < kLane; ++i) {
      const int column = static_cast<int>(threadIdx.x) * kLane + i;
      part[0][threadIdx.y][column] = sums.weight[k].values[i];
      part[1][threadIdx.y][column] = sums.bias[k].values[i];
      part[2][threadIdx.y][column] = sums.branch[k].values[i];
    }
    __syncthreads();
    for (int i = thread; i < 3 * kPiece; i += 32 * kBackwardWarps) {
      const std::int64_t column = k * kPiece + i % kPiece;
      if (column >= job.columns) continue;
      float sum = 0;
      for (int warp = 0; warp < kBackwardWarps; ++warp) sum += part[i / kPiece][warp][i % kPiece];
      job.scratch[i / kPiece * matrix + blockIdx.x * job.columns + column] = sum;
    }
  }
}

template <typename Value, int kPieces>
void start(const ResidualNormForward& job, CUstream_st* stream) {
  const std::int64_t blocks = std::min((job.rows + kWarps - 1) / kWarps, kMostBlocks);
  launch("the launch of residual_norm", forward_kernel<Value, kPieces>, static_cast<unsigned int>(blocks),
         dim3(32, kWarps), stream, job);
}

template <typename Value, int kPieces>
void start(const ResidualNormBackward& job, CUstream_st* stream) {
  launch("the launch of residual_norm's gradient", backward_kernel<Value, kPieces>,
         static_cast<unsigned int>(row_pieces(job.rows)), dim3(32, kBackwardWarps), stream, job);
}

/// The form for rows of so many columns; false when there is none.
template <typename Value, typename Job>
bool start_in_registers(const Job& job, CUstream_st* stream) {
  const std::int64_t pieces = (job.columns + kPiece - 1) / kPiece;
  if (pieces <= 1) return start<Value, 1>(job, stream), true;
  if (pieces <= 2) return start<Value, 2>(job, stream), true;
  if (pieces <= 3) return start<Value, 3>(job, stream), true;
  if (pieces <= 4) return start<Value, 4>(job, stream), true;
  if (pieces <= 6) return start<Value, 6>(job, stream), true;
  if (pieces <= 8) return start<Value, 8>(job, stream), true;
  return false;
}

}  // namespace

void residual_norm_cuda(const ResidualNormForward& job, CUstream_st* stream) {
  if (job.rows <= 0 || job.columns <= 0) return;
  const bool whole = job.columns % kLane == 0 && is_aligned(job.x, 16) && is_aligned(job.a, 16) &&
                     is_aligned(job.branch_bias, 16) && is_aligned(job.weight, 16) &&
                     is_aligned(job.bias, 16) && is_aligned(job.sum, 16) && is_aligned(job.y, 16);
  with_element_type(job.type, [&](auto value) {
    using Value = decltype(value);
    if (!whole || !start_in_registers<Value>(job, stream)) residual_norm_plain<Value>(job, stream);
  });
}

void residual_norm_cuda(const ResidualNormBackward& job, CUstream_st* stream) {
  if (job.columns <= 0) return;
  constexpr const char* kName = "the launch of residual_norm's gradient";
  const bool whole = job.columns % kLane == 0 && is_aligned(job.sum, 16) && is_aligned(job.weight, 16) &&
                     is_aligned(job.dy, 16) && is_aligned(job.dsum, 16) && is_aligned(job.dx, 16) &&
                     is_aligned(job.da, 16);
  with_element_type(job.type, [&](auto value) {
    using Value = decltype(value);
    if (!whole || !start_in_registers<Value>(job, stream)) residual_norm_plain<Value>(job, stream);
  });
  finish_column_sums(kName, job.scratch, job.columns, row_pieces(job.rows),
                     {{job.dweight, job.dbias, job.dbranch_bias}}, 3, stream);
}

}  // namespace isobar
