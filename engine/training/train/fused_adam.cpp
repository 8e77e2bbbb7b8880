#include "train/fused_adam.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace isobar {
namespace {

// Places in the control block.
constexpr std::int64_t kLearningRate = 0, kSteps = 1, kInverseScale = 2, kSkip = 3;

}  // namespace

FusedAdam::FusedAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
                     const TensorParallel& ranks)
    : parameters_(parameters),
      config_(config),
      ranks_(ranks),
      fuses_norm_(fusion.grad_norm),
      control_(at::zeros({4}, parameters.values().options())),
      norm_(parameters.values().device()) {
  control_[kInverseScale].fill_(1);
  cut_all();
  if (!fusion.adam) {
    plain_ = std::make_unique<Adam>(parameters, config);
    return;
  }
  mean_ = at::zeros_like(parameters.values());
  square_ = at::zeros_like(parameters.values());
  parameters.follow(mean_);
  parameters.follow(square_);
  cut_all();
}

void FusedAdam::cut_all() {
  layout_version_ = parameters_.layout_version();
  gradients_ = cut(parameters_.gradients());
  if (!mean_.defined()) return;
  weights_ = cut(parameters_.values());
  means_ = cut(mean_);
  squares_ = cut(square_);
}

std::vector<at::Tensor> FusedAdam::cut(const at::Tensor& flat) const {
  std::vector<at::Tensor> out;
  for (const Parameter& parameter : parameters_.all())
    out.push_back(flat.narrow(0, parameter.flat_begin, parameter.tensor.numel()));
  return out;
}

at::Tensor FusedAdam::step(double learning_rate, GradScaler& scaler) {
  set_learning_rate(learning_rate);
  return update(scaler);
}

void FusedAdam::set_learning_rate(double learning_rate) {
  learning_rate_ = learning_rate;
  if (!plain_) control_[kLearningRate].fill_(learning_rate);
}

at::Tensor FusedAdam::update(GradScaler& scaler) {
  const at::NoGradGuard no_grad;
  if (layout_version_ != parameters_.layout_version()) cut_all();
  const at::Tensor length = fuses_norm_ ? fused_norm(scaler) : plain_norm(scaler);
  if (plain_) {
    const bool skips =
        fuses_norm_ ? control_[kSkip].item<float>() != 0 : !std::isfinite(length.item<double>());
    if (!skips && fuses_norm_ && scaler.active())
      at::Tensor(parameters_.gradients()).mul_(control_[kInverseScale]);
    if (!skips) plain_->step(learning_rate_);
  } else {
    control_[kSteps].add_(1).sub_(control_[kSkip]);
    if (config_.kernel == AdamKernel::libtorch) {
      update_with_libtorch(scaler);
    } else {
      adam({parameters_.values(), parameters_.gradients(), mean_, square_, control_}, config_.beta1,
           config_.beta2, config_.eps);
    }
  }
  scaler.update();
  return length;
}

at::Tensor FusedAdam::whole_squares() const {
  std::vector<at::Tensor> whole;
  const std::vector<Parameter>& all = parameters_.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].shard.count == 1) whole.push_back(gradients_[i]);
  }
  return at::stack(at::_foreach_norm(whole, 2)).to(at::kDouble).square().sum();
}

void FusedAdam::unite_norm() {
  if (ranks_.count() == 1) return;
  // What all ranks have whole is to count once.
  const double others = 1.0 - 1.0 / ranks_.count();
  const at::Tensor mine = norm_.sum_of_squares.sub(whole_squares().mul(others));
  const at::Tensor both = at::stack({mine, norm_.nonfinite.to(at::kDouble)});
  ranks_.sum(both);
  norm_.sum_of_squares.copy_(both[0]);
  norm_.nonfinite.copy_(both[1]);
}

at::Tensor FusedAdam::fused_norm(GradScaler& scaler) {
  gradient_norm(parameters_.gradients(), norm_);
  unite_norm();
  at::Tensor skip = control_[kSkip];
  at::gt_out(skip, norm_.nonfinite, 0);
  if (!scaler.active()) return norm_.sum_of_squares.sqrt();
  at::Tensor inverse = control_[kInverseScale];
  at::reciprocal_out(inverse, scaler.scale_value());
  scaler.overflow().copy_(skip);
  return norm_.sum_of_squares.sqrt().mul_(inverse);
}

at::Tensor FusedAdam::plain_norm(GradScaler& scaler) {
  bool finite = scaler.unscale(parameters_);
  at::Tensor length = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2)).to(at::kDouble), 2);
  if (ranks_.count() > 1) {
    norm_.sum_of_squares.copy_(length.square());
    norm_.nonfinite.fill_(finite ? 0 : 1);
    unite_norm();
    length = norm_.sum_of_squares.sqrt();
    finite = norm_.nonfinite.item<std::int64_t>() == 0;
  }
  const bool skips = !finite || !std::isfinite(length.item<double>());
  control_[kSkip].fill_(skips ? 1 : 0);
  if (scaler.active() && skips) scaler.overflow().fill_(1);  // skipped is skipped: the scale hears of it too
  return length;
}

void FusedAdam::update_with_libtorch(GradScaler& scaler) {
  const std::vector<at::Tensor> steps(weights_.size(), control_[kSteps]);  // read only: one serves all
  const bool unscales = scaler.active() && fuses_norm_;
  at::_fused_adam_(weights_, gradients_, means_, squares_, {}, steps, control_[kLearningRate], config_.beta1,
                   config_.beta2, /*weight_decay=*/0, config_.eps, /*amsgrad=*/false, /*maximize=*/false,
                   unscales ? std::optional(scaler.scale_value()) : std::nullopt, control_[kSkip]);
}

std::string FusedAdam::why_not_captured() const {
  if (plain_) return "fusion.adam = false: the host counts the updates of plain Adam";
  return fuses_norm_ ? "" : "fusion.grad_norm = false: the host fetches the length of the gradient";
}

std::int64_t FusedAdam::steps() const {
  return plain_ ? plain_->steps() : std::llround(control_[kSteps].item<float>());
}

void FusedAdam::set_steps(std::int64_t steps) {
  if (plain_) {
    plain_->set_steps(steps);
  } else {
    control_[kSteps].fill_(static_cast<double>(steps));
  }
}

std::vector<NamedTensor> FusedAdam::moments() const {
  if (plain_) return plain_->moments();
  return moments_by_parameter(parameters_, mean_, square_);
}

}  // namespace isobar
