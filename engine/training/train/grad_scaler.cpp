#include "train/grad_scaler.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace isobar {

GradScaler::GradScaler(const AmpConfig& config, c10::Device device)
    : active_(config.mode == AmpMode::fp16 && config.scales_loss),
      growth_(config.growth),
      backoff_(config.backoff),
      growth_interval_(config.growth_interval),
      scale_(at::full({}, active_ ? config.init_scale : 1.0, at::TensorOptions(at::kFloat).device(device))),
      tracker_(at::zeros({}, at::TensorOptions(at::kInt).device(device))),
      overflow_(at::zeros({}, at::TensorOptions(at::kFloat).device(device))),
      skipped_(at::zeros({2}, at::TensorOptions(at::kDouble).device(device))) {}

at::Tensor GradScaler::scale(const at::Tensor& loss) const { return active_ ? loss * scale_ : loss; }

bool GradScaler::unscale(Parameters& parameters) {
  if (!active_) return true;
  const at::NoGradGuard no_grad;
  overflow_.zero_();
  std::vector<at::Tensor> gradients = {parameters.gradients()};
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow_,
                                                 scale_.to(at::kDouble).reciprocal().to(at::kFloat));
  return overflow_.item<float>() == 0;
}

void GradScaler::update() {
  if (!active_) return;
  const at::NoGradGuard no_grad;
  at::_amp_update_scale_(scale_, tracker_, overflow_, growth_, backoff_, growth_interval_);
  const at::Tensor skipped = overflow_.gt(0).to(at::kDouble);
  skipped_[0].add_(skipped);
  skipped_[1].add_(1).mul_(skipped);
}

at::Tensor GradScaler::report() const { return at::cat({scale_.to(at::kDouble).view(1), skipped_}); }

std::vector<NamedTensor> GradScaler::state() const {
  if (!active_) return {};
  return {{"scale", scale_}, {"growth_tracker", tracker_}, {"skipped", skipped_}};
}

}  // namespace isobar
