#include "kernels/adam.h"
#include "kernels/piece.cuh"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;  // fills any device; each reads the control once

/// What all values of a step have in common.
struct Rates {
  float mean_keeps;    ///< b1
  float mean_takes;    ///< 1 - b1
  float square_keeps;  ///< b2
  float square_takes;  ///< 1 - b2
  float eps;
  float gradient;  ///< 1 / loss scale
  float step;      ///< lr / (1 - b1^t)
  float root;      ///< 1 / sqrt(1 - b2^t)
};

__device__ Rates rates_of(const AdamStep& job, const AdamControl& control) {
  const double t = static_cast<double>(control.steps);
  Rates out;
  out.mean_keeps = static_cast<float>(job.beta1);
  out.mean_takes = static_cast<float>(1 - job.beta1);
  out.square_keeps = static_cast<float>(job.beta2);
  out.square_takes = static_cast<float>(1 - job.beta2);
  out.eps = static_cast<float>(job.eps);
  out.gradient = control.inverse_scale;
  out.step = static_cast<float>(static_cast<double>(control.learning_rate) / (1 - pow(job.beta1, t)));
  out.root = static_cast<float>(1 / sqrt(1 - pow(job.beta2, t)));
  return out;
}

__device__ void update(const Rates& rates, float gradient, float& weight, float& mean, float& square) {
  const float g = gradient * rates.gradient;
  mean = rates.mean_keeps * mean + rates.mean_takes * g;
  square = rates.square_keeps * square + rates.square_takes * g * g;
  weight -= rates.step * mean / (sqrtf(square) * rates.root + rates.eps);
}

/// `pieces` times `kWidth` values by all threads in turn, what is behind them by the first ones.
template <int kWidth>
__global__ void __launch_bounds__(kThreads) adam_kernel(const AdamStep job, std::int64_t pieces) {
  using Values = Piece<float, kWidth>;
  __shared__ Rates shared;
  const AdamControl control = *job.control;
  if (control.skip != 0) return;  // the whole grid
  if (threadIdx.x == 0) shared = rates_of(job, control);
  __syncthreads();
  const Rates rates = shared;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const auto* const gradients = reinterpret_cast<const Values*>(job.gradients);
  auto* const weights = reinterpret_cast<Values*>(job.weights);
  auto* const means = reinterpret_cast<Values*>(job.mean);
  auto* const squares = reinterpret_cast<Values*>(job.square);
  for (std::int64_t i = index; i < pieces; i += stride) {
    const Values gradient = gradients[i];
    Values weight = weights[i];
    Values mean = means[i];
    Values square = squares[i];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      update(rates, gradient.values[k], weight.values[k], mean.values[k], square.values[k]);
    }
    weights[i] = weight;
    means[i] = mean;
    squares[i] = square;
  }
  const std::int64_t behind = pieces * kWidth + index;
  if (behind >= job.n) return;
  update(rates, job.gradients[behind], job.weights[behind], job.mean[behind], job.square[behind]);
}

template <int kWidth>
void start(const AdamStep& job, CUstream_st* stream) {
  const std::int64_t pieces = job.n / kWidth;
  const std::int64_t blocks = std::clamp<std::int64_t>((pieces + kThreads - 1) / kThreads, 1, kMostBlocks);
  launch("the launch of adam", adam_kernel<kWidth>, static_cast<unsigned int>(blocks), kThreads, stream, job,
         pieces);
}

}  // namespace

void adam_cuda(const AdamStep& job, CUstream_st* stream) {
  if (job.n <= 0) return;
  const bool aligned = is_aligned(job.weights, 16) && is_aligned(job.gradients, 16) &&
                       is_aligned(job.mean, 16) && is_aligned(job.square, 16);
  return aligned ? start<kWide<float>>(job, stream) : start<1>(job, stream);
}

}  // namespace isobar
