#include "train/grad_scaler.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace isobar {
namespace {

/// No call but `item` in GradScaler::unscale waits for the device.
class TorchRule final : public ScalingRule {
 public:
  explicit TorchRule(const AmpConfig& config) : config_(config) {}

  at::Tensor scale(const at::Tensor& loss, const ScalerTensors& state) override { return loss * state.scale; }
  void unscale(const at::Tensor& gradients, ScalerTensors& state) override {
    state.overflow.zero_();
    at::_amp_foreach_non_finite_check_and_unscale_({gradients}, state.overflow,
                                                   state.scale.to(at::kDouble).reciprocal().to(at::kFloat));
  }
  void update(ScalerTensors& state) override {
    at::_amp_update_scale_(state.scale, state.good_steps, state.overflow, config_.growth, config_.backoff,
                           config_.growth_interval);
  }

 private:
  AmpConfig config_;
};

}  // namespace

constinit decltype(seams::scaling_rule) seams::scaling_rule{
    [](const AmpConfig& config) -> std::unique_ptr<ScalingRule> {
      return std::make_unique<TorchRule>(config);
    }};

GradScaler::GradScaler(const AmpConfig& config, c10::Device device)
    : active_(config.mode == AmpMode::fp16 && !has_fault(Fault::no_scaler)),
      rule_(active_ ? seams::scaling_rule(config) : nullptr),
      state_{.scale = at::full({}, active_ ? config.init_scale : 1.0,
                               at::TensorOptions(at::kFloat).device(device)),
             .good_steps = at::zeros({}, at::TensorOptions(at::kInt).device(device)),
             .overflow = at::zeros({}, at::TensorOptions(at::kFloat).device(device))},
      skipped_(at::zeros({2}, at::TensorOptions(at::kDouble).device(device))) {}

at::Tensor GradScaler::scale(const at::Tensor& loss) const {
  return active_ ? rule_->scale(loss, state_) : loss;
}

bool GradScaler::unscale(Parameters& parameters) {
  if (!active_) return true;
  const at::NoGradGuard no_grad;
  at::Tensor overflow;
  for (const OwnPiece& piece : parameters.own()) {
    rule_->unscale(piece.gradients, state_);
    if (overflow.defined()) state_.overflow.add_(overflow);
    if (parameters.own().size() > 1) overflow = state_.overflow.clone();
  }
  return state_.overflow.item<float>() == 0;
}

void GradScaler::update() {
  if (!active_) return;
  const at::NoGradGuard no_grad;
  rule_->update(state_);
  const at::Tensor skipped = state_.overflow.gt(0).to(at::kDouble);
  skipped_[0].add_(skipped);
  skipped_[1].add_(1).mul_(skipped);
}

at::Tensor GradScaler::report() const { return at::concat({state_.scale.to(at::kDouble).view(1), skipped_}); }

std::vector<NamedTensor> GradScaler::state() const {
  if (!active_) return {};
  return {{"scale", state_.scale}, {"growth_tracker", state_.good_steps}, {"skipped", skipped_}};
}

}  // namespace isobar
