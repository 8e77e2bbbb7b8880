#pragma once
// Squared lengths of gradients before and behind their average over ranks, of which formula/gradient_noise.h
// makes the noise scale (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", appendix A.1).
//
// A gradient may leave as soon as autograd has added to it, and is overwritten by the mean: its length is
// taken in a hook of its own, which autograd calls in front of the sync's since it was made earlier.
// Gradients are read and never written. Sums are of float64.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "formula/gradient_noise.h"
#include "fused/operations.h"
#include "model/parameters.h"
#include "train/grad_scaler.h"
#include "train/gradient_hooks.h"

namespace isobar {

class NoiseProbe {
 public:
  /// Every train.noise_every steps; in a group of one rank, and where comm.sync = none averages nothing,
  /// never. `parameters` (materialised) and `comm` outlive it. Error
  /// (exit code 1) unless it is made in front of the GradientSync.
  NoiseProbe(const Parameters& parameters, Comm& comm, const Config& config);

  /// In front of the backward passes of `step`, from 0: the last one of its micro-batches counts.
  void begin(std::int64_t step);
  /// Behind GradientSync::finish and in front of the update: without the loss scale of `scaler`, the same on
  /// all ranks, which call it alike. Not known in steps that are not due, and where a gradient is not finite.
  /// Waits for the device and for other ranks in a due step; what it exchanges is not counted as sent.
  GradientSquares squares(const GradScaler& scaler);

 private:
  /// Takes the length of the gradient that the leaf has now.
  void measure(std::size_t leaf, at::Tensor& squares);

  Comm& comm_;
  std::vector<at::Tensor> leaves_;
  std::int64_t every_;
  bool is_due_ = false;
  bool hears_hooks_ = false;
  GradientNormPlace norm_;
  at::Tensor local_, mean_;  ///< [leaves] float64: squares of gradients before and behind the average
  std::optional<GradientHooks> hooks_;
};

}  // namespace isobar
