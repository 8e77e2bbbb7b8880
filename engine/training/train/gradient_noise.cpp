#include "train/gradient_noise.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <numeric>

#include "config/fault.h"
#include "core/error.h"
#include "train/gradient_places.h"

namespace isobar {

NoiseProbe::NoiseProbe(const Parameters& parameters, Comm& comm, const Config& config)
    : comm_(comm),
      leaves_(leaf_tensors(parameters)),
      every_(comm.size() > 1 && config.comm.sync != SyncKind::none ? config.train.noise_every : 0),
      norm_(parameters.options().device()),
      local_(at::zeros({static_cast<std::int64_t>(leaves_.size())}, parameters.options().dtype(at::kDouble))),
      mean_(at::zeros_like(local_)) {
  if (every_ == 0) return;
  if (parameters.is_shared_out())
    throw Error("gradient noise is measured on mean gradients that every rank has whole",
                "train.noise_every, mesh.zero", "mesh.zero=0, or train.noise_every=0");
  if (has_hooks(leaves_))
    throw Error("gradient noise would be measured behind what sends gradients, where some have left",
                "NoiseProbe", "make it in front of the GradientSync", Exit::failed);
  hooks_.emplace(leaves_, [this](std::size_t leaf) {
    if (hears_hooks_) measure(leaf, local_);
  });
}

void NoiseProbe::begin(std::int64_t step) {
  is_due_ = every_ > 0 && (step + 1) % every_ == 0;
  hears_hooks_ = is_due_;
}

void NoiseProbe::measure(std::size_t leaf, at::Tensor& squares) {
  const at::NoGradGuard no_grad;
  gradient_norm(leaves_[leaf].grad(), norm_);
  squares[static_cast<std::int64_t>(leaf)].copy_(norm_.sum_of_squares);
}

GradientSquares NoiseProbe::squares(const GradScaler& scaler) {
  if (!is_due_) return {};
  hears_hooks_ = false;
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) measure(leaf, mean_);
  const at::Tensor& local = has_fault(Fault::noise_after_mean) ? mean_ : local_;
  const std::vector<double> own = comm_.all_gather_numbers(local.sum().item<double>(), "gradient noise");
  const double scale = scaler.active() ? scaler.scale_value().item<double>() : 1;
  const GradientSquares out{
      .local = std::accumulate(own.begin(), own.end(), 0.0) / comm_.size() / (scale * scale),
      .mean = mean_.sum().item<double>() / (scale * scale)};
  return std::isfinite(out.local) && std::isfinite(out.mean) ? out : GradientSquares{};
}

}  // namespace isobar
