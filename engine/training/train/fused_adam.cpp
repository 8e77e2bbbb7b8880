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

#include "device/memory_ledger.h"
#include "train/shared_norm.h"

namespace isobar {

FusedAdam::FusedAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
                     const TensorParallel& ranks)
    : FusedAdam(parameters, config, fusion, ranks, Moments::own) {}

FusedAdam::FusedAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
                     const TensorParallel& ranks, Moments moments)
    : parameters_(parameters),
      config_(config),
      control_(at::zeros({4}, parameters.options())),
      ranks_(ranks),
      fuses_norm_(fusion.grad_norm),
      norm_(parameters.options().device()),
      more_norm_(parameters.options().device()) {
  control_[kInverseScale].fill_(1);
  if (moments == Moments::none) {
    cut_all();
    return;
  }
  if (fusion.adam) {
    const MemoryScope scope(MemoryCategory::moments);
    mean_ = at::zeros({parameters.own_count()}, parameters.options());
    square_ = at::zeros_like(mean_);
    parameters.follow(mean_);
    parameters.follow(square_);
  } else {
    plain_ = std::make_unique<Adam>(parameters, config);
  }
  cut_all();
}

void FusedAdam::cut_all() {
  layout_version_ = parameters_.layout_version();
  for (std::vector<at::Tensor>* const views : {&weights_, &gradients_, &means_, &squares_, &whole_})
    views->clear();
  for (const Parameter& parameter : parameters_.all()) {
    const OwnStretch own = parameters_.own_stretch(parameter);
    if (own.count == 0) continue;
    gradients_.push_back(parameters_.own_gradients(parameter));
    if (parameter.shard.count == 1) whole_.push_back(gradients_.back());
    if (!mean_.defined()) continue;
    weights_.push_back(parameters_.own_values(parameter));
    means_.push_back(mean_.narrow(0, own.in_own, own.count));
    squares_.push_back(square_.narrow(0, own.in_own, own.count));
  }
}

void FusedAdam::unite_over(Comm& stages) { stages_ = stages.size() > 1 ? &stages : nullptr; }

bool FusedAdam::has_all_alone() const {
  return ranks_.count() == 1 && stages_ == nullptr && parameters_.shared_layout().sharer == nullptr;
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
    apply_plain(length, scaler.active());
  } else {
    apply(scaler);
  }
  scaler.update();
  return length;
}

void FusedAdam::apply_plain(const at::Tensor& length, bool scales) {
  const bool skips = fuses_norm_ ? control_[kSkip].item<float>() != 0 : !std::isfinite(length.item<double>());
  if (skips) return;
  const bool shortens = config_.clip_norm > 0 || (fuses_norm_ && scales);
  for (const OwnPiece& piece : parameters_.own())
    if (shortens) at::Tensor(piece.gradients).mul_(control_[kInverseScale]);
  plain_->step(learning_rate_);
}

void FusedAdam::apply(GradScaler& scaler) {
  control_[kSteps].add_(1).sub_(control_[kSkip]);
  if (config_.kernel == AdamKernel::libtorch) {
    update_with_libtorch(scaler);
    return;
  }
  for (const OwnPiece& piece : parameters_.own()) {
    const std::int64_t n = piece.values.numel();
    adam({piece.values, piece.gradients, mean_.narrow(0, piece.begin, n), square_.narrow(0, piece.begin, n),
          control_},
         config_.beta1, config_.beta2, config_.eps);
  }
}

at::Tensor FusedAdam::whole_squares() const {
  if (whole_.empty()) return at::zeros({}, norm_.sum_of_squares.options());
  return at::stack(at::_foreach_norm(whole_, 2)).to(at::kDouble).square().sum();
}

void FusedAdam::unite_norm() {
  if (has_fault(Fault::clip_local_norm)) own_squares_ = norm_.sum_of_squares.clone();
  if (has_all_alone()) return;
  SharesParameters* const sharer = parameters_.shared_layout().sharer;
  // What all ranks of a model have whole is to count once.
  const double others = 1.0 - 1.0 / ranks_.count();
  const at::Tensor mine =
      ranks_.count() == 1 ? norm_.sum_of_squares : norm_.sum_of_squares.sub(whole_squares().mul(others));
  const at::Tensor both = at::stack({mine, norm_.nonfinite.to(at::kDouble)});
  if (sharer != nullptr && ranks_.count() == 1) seams::add_up_shares(parameters_, both, sharer->group());
  if (sharer != nullptr && ranks_.count() > 1) add_up_shares(parameters_, both, sharer->group());
  if (ranks_.count() > 1) ranks_.sum(both);
  if (stages_ != nullptr) add_up_shares(parameters_, both, *stages_);
  norm_.sum_of_squares.copy_(both[0]);
  norm_.nonfinite.copy_(both[1]);
}

void FusedAdam::measure_own() {
  bool first = true;
  for (const OwnPiece& piece : parameters_.own()) {
    gradient_norm(piece.gradients, first ? norm_ : more_norm_);
    if (!first) {
      norm_.sum_of_squares.add_(more_norm_.sum_of_squares);
      norm_.nonfinite.add_(more_norm_.nonfinite);
    }
    first = false;
  }
}

void FusedAdam::clip(const at::Tensor& length) {
  if (config_.clip_norm == 0) return;
  constexpr double kNotZero = 1e-6;
  at::Tensor by = control_[kInverseScale];
  by.mul_(length.add(kNotZero).reciprocal().mul(config_.clip_norm).clamp_max(1));
}

at::Tensor FusedAdam::fused_norm(GradScaler& scaler) {
  measure_own();
  unite_norm();
  at::Tensor skip = control_[kSkip];
  at::gt_out(skip, norm_.nonfinite, 0);
  at::Tensor inverse = control_[kInverseScale];
  if (scaler.active()) {
    at::reciprocal_out(inverse, scaler.scale_value());
    scaler.overflow().copy_(skip);
  } else if (config_.clip_norm > 0) {
    inverse.fill_(1);
  }
  const auto unscaled = [&](const at::Tensor& squares) {
    const at::Tensor length = squares.sqrt();
    return scaler.active() ? length.mul(inverse) : length;
  };
  const at::Tensor length = unscaled(norm_.sum_of_squares);
  clip(own_squares_.defined() ? unscaled(own_squares_) : length);
  return length;
}

at::Tensor FusedAdam::plain_norm(GradScaler& scaler) {
  bool finite = scaler.unscale(parameters_);
  at::Tensor length = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients_, 2)).to(at::kDouble), 2);
  at::Tensor to_clip_by = length;
  if (!has_all_alone()) {
    norm_.sum_of_squares.copy_(length.square());
    norm_.nonfinite.fill_(finite ? 0 : 1);
    unite_norm();
    length = norm_.sum_of_squares.sqrt();
    finite = norm_.nonfinite.item<std::int64_t>() == 0;
  }
  if (!has_fault(Fault::clip_local_norm)) to_clip_by = length;
  const bool skips = !finite || !std::isfinite(length.item<double>());
  control_[kSkip].fill_(skips ? 1 : 0);
  if (scaler.active() && skips) scaler.overflow().fill_(1);  // skipped is skipped: the scale hears of it too
  control_[kInverseScale].fill_(1);
  clip(to_clip_by);
  return length;
}

void FusedAdam::update_with_libtorch(GradScaler& scaler) {
  const std::vector<at::Tensor> steps(weights_.size(), control_[kSteps]);  // read only: one serves all
  const bool unscales = (scaler.active() && fuses_norm_) || config_.clip_norm > 0;
  const at::Tensor divisor =
      config_.clip_norm > 0 ? control_[kInverseScale].reciprocal() : scaler.scale_value();
  at::_fused_adam_(weights_, gradients_, means_, squares_, {}, steps, control_[kLearningRate], config_.beta1,
                   config_.beta2, /*weight_decay=*/0, config_.eps, /*amsgrad=*/false, /*maximize=*/false,
                   unscales ? std::optional(divisor) : std::nullopt, control_[kSkip]);
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
