#include "train/adam.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "device/memory_ledger.h"

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

Adam::Adam(Parameters& parameters, const OptimConfig& config) : parameters_(parameters), config_(config) {
  const MemoryScope scope(MemoryCategory::moments);
  mean_ = at::zeros({parameters.own_count()}, parameters.options());
  square_ = at::zeros_like(mean_);
  for (const OwnPiece& piece : parameters.own()) {
    const std::int64_t n = piece.values.numel();
    const bool is_all = n == mean_.numel();
    states_.push_back({.mean = is_all ? mean_ : mean_.narrow(0, piece.begin, n),
                       .square = is_all ? square_ : square_.narrow(0, piece.begin, n)});
  }
  parameters.follow(mean_);
  parameters.follow(square_);
}

void Adam::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const OwnPiece& piece = parameters_.own()[i];
    at::Tensor weights = piece.values;
    seams::adam_update(weights, piece.gradients, states_[i], learning_rate, config_);
  }
}

void Adam::set_steps(std::int64_t steps) {
  for (AdamMoments& state : states_) state.steps = steps;
}

std::vector<NamedTensor> Adam::moments() const {
  if (states_.size() > 1) return moments_by_parameter(parameters_, mean_, square_);
  return moments_by_parameter(parameters_, states_.front().mean, states_.front().square);
}

}  // namespace isobar
