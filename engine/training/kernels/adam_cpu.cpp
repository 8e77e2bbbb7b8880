#include <cmath>

#include "kernels/adam.h"
#include "kernels/cpu_forms.h"

namespace isobar {
namespace {

/// What is the same for all parameters of one step.
struct Factors {
  float inverse_scale, keep1, take1, keep2, take2, rate, spread, eps;
};

Factors factors_of(const AdamStep& job) {
  const AdamControl& control = *job.control;
  const double correction1 = 1 - std::pow(job.beta1, static_cast<double>(control.steps));
  const double correction2 = 1 - std::pow(job.beta2, static_cast<double>(control.steps));
  return {.inverse_scale = control.inverse_scale,
          .keep1 = static_cast<float>(job.beta1),
          .take1 = static_cast<float>(1 - job.beta1),
          .keep2 = static_cast<float>(job.beta2),
          .take2 = static_cast<float>(1 - job.beta2),
          .rate = static_cast<float>(static_cast<double>(control.learning_rate) / correction1),
          .spread = static_cast<float>(1 / std::sqrt(correction2)),
          .eps = static_cast<float>(job.eps)};
}

struct Update {
  const AdamStep& job;
  const Factors& factors;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const Factors f = factors;
    const float* const gradients = job.gradients;
    float* const weights = job.weights;
    float* const means = job.mean;
    float* const squares = job.square;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float gradient = gradients[i] * f.inverse_scale;
      const float mean = f.keep1 * means[i] + f.take1 * gradient;
      const float square = f.keep2 * squares[i] + f.take2 * gradient * gradient;
      means[i] = mean;
      squares[i] = square;
      weights[i] -= f.rate * mean / (std::sqrt(square) * f.spread + f.eps);
    }
  }
};

}  // namespace

void adam_cpu(const AdamStep& job, InstructionSet set) {
  if (job.n == 0 || job.control->skip != 0) return;
  const Factors factors = factors_of(job);
  for_parts(set, job.n, job.n, Update{job, factors});
}

}  // namespace isobar
