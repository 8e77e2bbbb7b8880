#include "train/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace isobar {

namespace {

void update_adam(at::Tensor& weights, const at::Tensor& gradients, AdamMoments& state, double learning_rate,
                 const OptimConfig& config) {
  const auto t = static_cast<double>(++state.steps);
  state.mean.lerp_(gradients, 1 - config.beta1);
  state.square.mul_(config.beta2).addcmul_(gradients, gradients, 1 - config.beta2);
  const double correction1 = 1 - std::pow(config.beta1, t);
  const double correction2 = std::sqrt(1 - std::pow(config.beta2, t));
  const at::Tensor denominator = state.square.sqrt().div_(correction2).add_(config.eps);
  weights.addcdiv_(state.mean, denominator, -learning_rate / correction1);
}

}  // namespace

constinit decltype(seams::adam_update) seams::adam_update{update_adam};

Adam::Adam(Parameters& parameters, const OptimConfig& config)
    : parameters_(parameters),
      config_(config),
      state_{.mean = at::zeros_like(parameters.values()), .square = at::zeros_like(parameters.values())} {
  parameters.follow(state_.mean);
  parameters.follow(state_.square);
}

void Adam::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  at::Tensor weights = parameters_.values();
  seams::adam_update(weights, parameters_.gradients(), state_, learning_rate, config_);
}

std::vector<NamedTensor> Adam::moments() const {
  return moments_by_parameter(parameters_, state_.mean, state_.square);
}

}  // namespace isobar
