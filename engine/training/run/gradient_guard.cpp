#include "run/gradient_guard.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "device/nonfinite.h"
#include "device/operator_watch.h"
#include "device/stream.h"

namespace isobar {
namespace {

bool is_finite(const at::Tensor& tensor) {
  at::Tensor count = at::zeros({}, tensor.options().dtype(at::kLong).requires_grad(false));
  add_nonfinite(tensor, count);
  return count.item<std::int64_t>() == 0;
}

std::string first_broken_gradient(const Parameters& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    if (!is_finite(parameters.own_gradients(parameter))) return parameter.name;
  }
  return "";
}

/// The last one whose gradient is not finite: backward goes from the last to the first, and met it first.
std::string last_broken_gradient(const Parameters& parameters) {
  for (auto parameter = parameters.all().rbegin(); parameter != parameters.all().rend(); ++parameter) {
    if (!is_finite(parameters.own_gradients(*parameter))) return parameter->name;
  }
  return "";
}

std::int64_t count_broken(const Parameters& parameters) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters.all())
    count += is_finite(parameters.own_gradients(parameter)) ? 0 : 1;
  return count;
}

/// What is left when a step was not made.
std::string what_is_left(std::int64_t checkpoint_step) {
  return checkpoint_step < 0
             ? "the step was not made; no checkpoint was saved yet: train.checkpoint_every=N saves some"
             : fmt::format("the step was not made; the checkpoint after step {} is good", checkpoint_step);
}

}  // namespace

std::string first_broken_weight(const Parameters& parameters) {
  if (std::ranges::all_of(parameters.own(), [](const OwnPiece& own) { return is_finite(own.values); }))
    return "";
  for (const Parameter& parameter : parameters.all()) {
    if (!is_finite(parameters.own_values(parameter))) return parameter.name;
  }
  return "";
}

GradientGuard::GradientGuard(const Config& config, const Training& training, const Progress& progress,
                             int ranks, int model_ranks)
    : config_(config),
      training_(training),
      progress_(progress),
      ranks_(ranks),
      model_ranks_(model_ranks),
      guards_(config.run.measure != MeasureKind::synthetic) {
  const c10::Device device = training.parameters.options().device();
  if (has_streams(device)) nonfinite_ = at::zeros({}, at::TensorOptions(at::kLong).device(device));
}

void GradientGuard::check(const Step& step) {
  const ModuleScope scope("gradient check");
  if (on_device()) {
    if (!scales_loss()) add_nonfinite(training_.parameters.gradients(), nonfinite_);
    return;
  }
  if (!is_finite(training_.parameters.gradients()) && guards_) tell(step.index());
}

void GradientGuard::check(const Step& step, const at::Tensor& gradient_norm) {
  const ModuleScope scope("gradient check");
  if (on_device()) {
    if (!scales_loss()) nonfinite_.add_(gradient_norm.isfinite().logical_not());
    return;
  }
  if (!std::isfinite(gradient_norm.item<double>()) && guards_) tell(step.index());
}

void GradientGuard::tell(std::int64_t index) const {
  const Parameters& parameters = training_.parameters;
  const std::string where = fmt::format("step {}", index + 1);
  const std::string left = what_is_left(progress_.checkpoint_step);
  if (const std::string weight = first_broken_weight(parameters); !weight.empty())
    throw Error("a weight is not a finite number", where + ", " + weight, left, Exit::failed);
  const std::int64_t broken = count_broken(parameters);
  const bool has_a_part = model_ranks_ > 1 || parameters.is_shared_out();
  if (scales_loss() && (broken > 0 || has_a_part)) return;  // the step is skipped
  if (broken == 0 && has_a_part) {
    throw Error("a gradient is not a finite number in another rank's piece of the model", where, left,
                Exit::failed);
  }
  if (broken == 0) {
    throw Error(
        "the padding of the gradient buffer holds a value that is not a finite number, though no gradient "
        "does",
        fmt::format("{}, behind the {} tensors", where, parameters.all().size()),
        "a kernel wrote past the end of its tensor; what runs over the whole buffer (gradient norm, fused "
        "Adam) "
        "sees it",
        Exit::failed);
  }
  const auto all = static_cast<std::int64_t>(parameters.all().size());
  if (broken < all) {
    throw Error(fmt::format("a gradient is not a finite number ({} of {} tensors)", broken, all),
                where + ", " + first_broken_gradient(parameters), left, Exit::failed);
  }
  if (ranks_ > 1) {
    throw Error("gradients are not finite numbers on some rank, and their mean on none", where, left,
                Exit::failed);
  }
  throw Error("the loss is not a finite number: values overflowed in the forward pass", where,
              "a smaller optim.lr, or a warm-up (schedule.warmup_steps)", Exit::failed);
}

bool GradientGuard::is_broken(const StepFigures& figures) const {
  return guards_ && !scales_loss() && (!std::isfinite(figures.loss) || figures.nonfinite > 0);
}

void GradientGuard::check(std::int64_t index, const StepFigures& figures) const {
  if (is_broken(figures)) {
    throw Error(std::isfinite(figures.loss)
                    ? "gradients were not finite numbers"
                    : fmt::format("the loss is {} and training cannot continue", figures.loss),
                fmt::format("step {} or the {} before it", index + 1, config_.train.report_every - 1),
                "a smaller optim.lr, or a warm-up (schedule.warmup_steps)", Exit::failed);
  }
  if (scales_loss()) check_skips(index, figures);
}

void GradientGuard::check_skips(std::int64_t index, const StepFigures& figures) const {
  const auto in_row = static_cast<std::int64_t>(figures.skipped_in_row);
  if (!guards_ || in_row < config_.amp.max_skips) return;
  // Unscaling in place leaves what is not finite as it is; on a CUDA device the host looks later.
  const std::string first = last_broken_gradient(training_.parameters);
  throw Error(
      fmt::format("{} steps in a row were skipped because gradients overflowed; the loss scale is {:.6g}",
                  in_row, figures.scale),
      fmt::format("step {}{}", index + 1,
                  first.empty() ? "" : ", not finite first in the gradient of " + first),
      "Try bf16 (amp.mode=bf16), a lower lr (optim.lr), or a warm-up (schedule.warmup_steps)", Exit::failed);
}

}  // namespace isobar
