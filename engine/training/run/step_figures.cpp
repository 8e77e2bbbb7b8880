#include "run/step_figures.h"

#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace isobar {
namespace {

StepFigures figures_of(const double* values) {
  return {values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
}

bool scales(const FigureTensors& tensors) { return tensors.scaler != nullptr && tensors.scaler->active(); }

}  // namespace

FetchedFigures::FetchedFigures(const FigureTensors& tensors) : fetched_(true) {
  const at::Tensor loss = tensors.loss.detach();
  if (loss.is_cpu()) {
    here_.loss = loss.item<double>();
    here_.own_loss = tensors.own_loss.item<double>();
    if (tensors.gradient_norm.defined()) here_.gradient_norm = tensors.gradient_norm.item<double>();
    if (!scales(tensors)) return;
    const at::Tensor report = tensors.scaler->report();
    const double* const values = report.const_data_ptr<double>();
    here_.scale = values[0];
    here_.skipped = values[1];
    here_.skipped_in_row = values[2];
    return;
  }
  const auto one = [&](const at::Tensor& value) {
    return value.defined()
               ? value.detach().to(at::kDouble).view(1)
               : at::full({1}, std::numeric_limits<double>::quiet_NaN(), loss.options().dtype(at::kDouble));
  };
  const at::Tensor report =
      scales(tensors) ? tensors.scaler->report() : at::zeros({3}, loss.options().dtype(at::kDouble));
  const at::Tensor all = at::concat(
      {one(loss), one(tensors.nonfinite), one(tensors.gradient_norm), report, one(tensors.own_loss)});
  coming_ = at::empty(all.sizes(), at::TensorOptions(at::kDouble).pinned_memory(true));
  coming_.copy_(all, /*non_blocking=*/true);
}

StepFigures FetchedFigures::take() const {
  return coming_.defined() ? figures_of(coming_.const_data_ptr<double>()) : here_;
}

}  // namespace isobar
