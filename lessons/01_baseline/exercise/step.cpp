// Lesson 01: what a step does to numbers. Gradients to zero, the loss, one update of Adam.
// exercise.h says what is given and what is promised; ./isobar check 01_baseline looks at what you wrote.
#include <ATen/TensorOperators.h>  // +, -, *, / of tensors
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>

#include "01_baseline/exercise/exercise.h"

namespace isobar::mine {

using exercise::AdamSetting;
using exercise::AdamState;

void zero_gradients(at::Tensor& gradients) {
  // BEGIN All of them become 0, in the memory that they have.
  gradients.zero_();
  // END
}

at::Tensor relative_l2(const at::Tensor& prediction, const at::Tensor& target) {
  // BEGIN The norm of each sample's error over the norm of its truth, then the mean over the samples.
  //> return prediction.mean() - target.mean();
  const auto norm_per_sample = [](const at::Tensor& t) {
    return at::linalg_vector_norm(t.flatten(1), 2, {{1}});  // [B, ...] -> [B]
  };
  return (norm_per_sample(prediction - target) / norm_per_sample(target)).mean();
  // END
}

void adam_step(at::Tensor& weights, const at::Tensor& gradients, AdamState& state, double learning_rate,
               const AdamSetting& setting) {
  // BEGIN Count the update, renew m and v, then move the weights in their memory.
  const auto t = static_cast<double>(++state.steps);
  state.mean.lerp_(gradients, 1 - setting.beta1);  // m + (1 - beta1) (g - m)
  state.square.mul_(setting.beta2).addcmul_(gradients, gradients, 1 - setting.beta2);
  const double correction1 = 1 - std::pow(setting.beta1, t);
  const double correction2 = std::sqrt(1 - std::pow(setting.beta2, t));
  const at::Tensor divisor = state.square.sqrt().div_(correction2).add_(setting.eps);
  weights.addcdiv_(state.mean, divisor, -learning_rate / correction1);
  // END
}

}  // namespace isobar::mine
