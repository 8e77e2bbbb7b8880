#include "kernels/bias_gelu.h"
#include "kernels/column_sums.cuh"
#include "kernels/normal_tail.h"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr int kRounds = 2;                     // pieces that a thread has on their way at once
constexpr std::int64_t kMostBlocks = 1 << 13;  // the rest is strided over
constexpr int kRowLanes = 8;                   // rows at once of a block in the backward pass
constexpr int kColumnLanes = 32;               // and pieces of a row at once

constexpr float kRootHalf = 0.70710678118654752F;          // 1 / sqrt 2
constexpr float kHalfLog2E = -0.72134752044448170F;        // e^(-u^2/2) = 2^(u^2 of it)
constexpr float kRootTwoPiInverse = 0.39894228040143268F;  // 1 / sqrt(2 pi)
constexpr float kTanhRate = 0.79788456080286536F;          // sqrt(2 / pi)
constexpr float kTanhCube = 0.044715F;

/// Phi(u), where bell = e^(-u^2/2).
__device__ float normal_distribution(float u, float bell) {
  const float scaled = kTailRate * fminf(fabsf(u), kTailFarthest);
  const float w = scaled * near_reciprocal(1.0F + scaled);
  float sum = kTail7;
  sum = sum * w + kTail6;
  sum = sum * w + kTail5;
  sum = sum * w + kTail4;
  sum = sum * w + kTail3;
  sum = sum * w + kTail2;
  sum = sum * w + kTail1;
  sum = sum * w + kTail0;
  const float tail = bell * (sum * w + 0.5F);
  return u < 0.0F ? tail : 1.0F - tail;
}

/// The value is cheaper with `erff` alone; the slope needs the exponential anyway.
struct Erf {
  static __device__ float value(float u) { return 0.5F * u * (1.0F + erff(u * kRootHalf)); }
  static __device__ float slope(float u) {
    const float bell = near_exp2(u * u * kHalfLog2E);
    return normal_distribution(u, bell) + u * (kRootTwoPiInverse * bell);
  }
};

struct Tanh {
  static __device__ float value(float u) {
    return 0.5F * u * (1.0F + tanhf(kTanhRate * (u + kTanhCube * u * u * u)));
  }
  static __device__ float slope(float u) {
    const float t = tanhf(kTanhRate * (u + kTanhCube * u * u * u));
    const float square =
        fabsf(u) < 100.0F ? u * u : 1e4F;  // beyond it 1 - t^2 is 0 and must not meet infinity
    return 0.5F * (1.0F + t) + 0.5F * u * (1.0F - t * t) * kTanhRate * (1.0F + 3.0F * kTanhCube * square);
  }
};

/// Which piece of its row `piece` is; division of 64 bits takes five times as long as one of 32.
__device__ std::int64_t place_in_row(std::int64_t piece, std::int64_t width) {
  if (piece <= 0xffffffffLL) return static_cast<unsigned int>(piece) % static_cast<unsigned int>(width);
  return piece % width;
}

/// `width` pieces make a row. A block takes chunks of kThreads kRounds pieces.
template <typename Gelu, typename Value, int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(const void* x, const float* bias, void* y, std::int64_t width, std::int64_t pieces) {
  using Values = Piece<Value, kWidth>;
  using Biases = Piece < float, kWidth<4 ? kWidth : 4>;
  constexpr int kBiases = kWidth < 4 ? 1 : kWidth / 4;
  constexpr std::int64_t kChunk = std::int64_t{kThreads} * kRounds;
  const auto* const from = static_cast<const Values*>(x);
  auto* const to = static_cast<Values*>(y);
  const auto* const biases = reinterpret_cast<const Biases*>(bias);
  for (std::int64_t chunk = blockIdx.x; chunk * kChunk < pieces; chunk += gridDim.x) {
    const std::int64_t first = chunk * kChunk + threadIdx.x;
    Values loaded[kRounds];
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (first + round * kThreads < pieces) loaded[round] = from[first + round * kThreads];
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t piece = first + round * kThreads;
      if (piece >= pieces) continue;
      const std::int64_t place = place_in_row(piece, width);
      Biases b[kBiases];
#pragma unroll
      for (int i = 0; i < kBiases; ++i) b[i] = biases[place * kBiases + i];
      Values result;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const float u = widened(loaded[round].values[i]) + b[i / 4].values[i % 4];
        result.values[i] = rounded<Value>(Gelu::value(u));
      }
      to[piece] = result;
    }
  }
}

/// Block (x, p): pieces 32 x .. 32 x + 31 of the rows of piece p. Eight rows at a time; what each of the
/// eight lanes has summed is added in their order.
template <typename Gelu, typename Value, int kWidth>
__global__ void __launch_bounds__(kRowLanes* kColumnLanes)
    backward_kernel(const BiasGeluBackward job, std::int64_t width) {
  using Values = Piece<Value, kWidth>;
  __shared__ float part[kRowLanes][kColumnLanes]
                       [kWidth + 1];  // one more: no two lanes of a warp share a bank
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kColumnLanes + threadIdx.x;
  const RowRange rows = rows_of_piece(job.rows, blockIdx.y, gridDim.y);
  float sums[kWidth] = {};
  if (place < width) {
    float bias[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) bias[i] = job.bias[place * kWidth + i];
    for (std::int64_t row = rows.begin + threadIdx.y; row < rows.end; row += kRounds * kRowLanes) {
      Values x[kRounds];
      Values dy[kRounds];
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        if (row + round * kRowLanes >= rows.end) continue;
        x[round] = static_cast<const Values*>(job.x)[(row + round * kRowLanes) * width + place];
        dy[round] = static_cast<const Values*>(job.dy)[(row + round * kRowLanes) * width + place];
      }
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        if (row + round * kRowLanes >= rows.end) continue;
        Values dx;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          const float value =
              widened(dy[round].values[i]) * Gelu::slope(widened(x[round].values[i]) + bias[i]);
          sums[i] += value;
          dx.values[i] = rounded<Value>(value);
        }
        static_cast<Values*>(job.dx)[(row + round * kRowLanes) * width + place] = dx;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) part[threadIdx.y][threadIdx.x][i] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || place >= width) return;
  float* const to = job.scratch + blockIdx.y * job.columns + place * kWidth;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    for (int lane = 1; lane < kRowLanes; ++lane) sums[i] += part[lane][threadIdx.x][i];
    to[i] = sums[i];
  }
}

template <typename Gelu, typename Value, int kWidth>
void start(const BiasGeluForward& job, CUstream_st* stream) {
  const std::int64_t width = job.columns / kWidth;
  const std::int64_t pieces = job.rows * width;
  const std::int64_t chunks = (pieces + kThreads * kRounds - 1) / (kThreads * kRounds);
  const auto blocks = static_cast<unsigned int>(std::min(chunks, kMostBlocks));
  launch("the launch of bias_gelu", forward_kernel<Gelu, Value, kWidth>, blocks, kThreads, stream, job.x,
         job.bias, job.y, width, pieces);
}

template <typename Gelu, typename Value, int kWidth>
void start(const BiasGeluBackward& job, CUstream_st* stream) {
  constexpr const char* kName = "the launch of bias_gelu's gradient";
  const std::int64_t width = job.columns / kWidth;
  const std::int64_t pieces = row_pieces(job.rows);
  const auto blocks = static_cast<unsigned int>((width + kColumnLanes - 1) / kColumnLanes);
  launch(kName, backward_kernel<Gelu, Value, kWidth>, dim3(blocks, static_cast<unsigned int>(pieces)),
         dim3(kColumnLanes, kRowLanes), stream, job, width);
  finish_column_sums(kName, job.scratch, job.columns, pieces, {{job.dbias, nullptr, nullptr}}, 1, stream);
}

/// Whole pieces of 16 bytes where all rows consist of them, else value by value.
template <typename Job>
void start_wide_or_not(const Job& job, bool aligned, CUstream_st* stream) {
  with_element_type(job.type, [&](auto value) {
    using Value = decltype(value);
    const bool wide = aligned && job.columns % kWide<Value> == 0;
    if (job.tanh_form) {
      return wide ? start<Tanh, Value, kWide<Value>>(job, stream) : start<Tanh, Value, 1>(job, stream);
    }
    return wide ? start<Erf, Value, kWide<Value>>(job, stream) : start<Erf, Value, 1>(job, stream);
  });
}

}  // namespace

void bias_gelu_cuda(const BiasGeluForward& job, CUstream_st* stream) {
  if (job.rows <= 0 || job.columns <= 0) return;
  start_wide_or_not(job, is_aligned(job.x, 16) && is_aligned(job.y, 16) && is_aligned(job.bias, 16), stream);
}

void bias_gelu_cuda(const BiasGeluBackward& job, CUstream_st* stream) {
  if (job.columns <= 0) return;
  start_wide_or_not(job, is_aligned(job.x, 16) && is_aligned(job.dy, 16) && is_aligned(job.dx, 16), stream);
}

}  // namespace isobar
