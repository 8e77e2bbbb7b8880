#include "train/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace isobar {

Adam::Adam(Parameters& parameters, const OptimConfig& config)
    : parameters_(parameters),
      beta1_(config.beta1),
      beta2_(config.beta2),
      eps_(config.eps),
      mean_(at::zeros_like(parameters.values())),
      square_(at::zeros_like(parameters.values())) {
  parameters.follow(mean_);
  parameters.follow(square_);
}

void Adam::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  const at::Tensor& gradients = parameters_.gradients();
  ++steps_;
  const auto t = static_cast<double>(steps_);
  mean_.lerp_(gradients, 1 - beta1_);
  square_.mul_(beta2_).addcmul_(gradients, gradients, 1 - beta2_);
  const double correction1 = 1 - std::pow(beta1_, t);
  const double correction2 = std::sqrt(1 - std::pow(beta2_, t));
  const at::Tensor denominator = square_.sqrt().div_(correction2).add_(eps_);
  at::Tensor values = parameters_.values();
  values.addcdiv_(mean_, denominator, -learning_rate / correction1);
}

std::vector<NamedTensor> Adam::moments() const { return moments_by_parameter(parameters_, mean_, square_); }

}  // namespace isobar
