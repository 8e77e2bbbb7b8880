#pragma once
// How much the gradient of a batch owes to the samples that happen to be in it, from gradients of two batch
// sizes: b samples on a rank, and B = b x ranks over all. With G the gradient over all samples and s the sum
// of the variances of a sample's gradient over its components,
//
//   E |g_b|^2 = |G|^2 + s / b          E |g_B|^2 = |G|^2 + s / B
//
// and so, without bias in each step (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training",
// appendix A.1),
//
//   |G|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b)     s = (|g_b|^2 - |g_B|^2) / (1/b - 1/B)
//
// The noise scale s / |G|^2, in samples, is the batch at which noise is as long as the gradient. It is a mean
// over steps divided by a mean over steps: in one step |G|^2 may be near 0 or below, and a mean of ratios
// would be biased.
#include <cstdint>
#include <optional>
#include <span>

namespace isobar {

/// Squared lengths of the gradients of one step, of mean losses; -1: not measured.
struct GradientSquares {
  double local = -1;  ///< |g_b|^2 of a rank's own gradient, the mean over ranks
  double mean = -1;   ///< |g_B|^2 of the mean gradient over ranks

  bool is_known() const { return local >= 0 && mean >= 0; }
};

/// A figure over several steps. Spread: its standard error by the jackknife that leaves out one step at a
/// time; steps count as independent, so that what drifts in training counts as spread. Nothing for one step.
struct NoiseFigure {
  double value = 0;
  std::optional<double> spread;
};

struct GradientNoise {
  NoiseFigure gradient_square;  ///< |G|^2
  NoiseFigure variance;         ///< s; below 0 where it is lost in its own spread
  NoiseFigure scale;            ///< s / |G|^2, samples; no spread where |G|^2 hangs on a single step
  std::int64_t steps = 0;       ///< measured ones
};

/// `local_batch`: b, samples of a rank in a step. Nothing for one rank, where no step was measured, and where
/// the mean of |G|^2 is not above 0: then there are too few steps to see a gradient in the noise.
std::optional<GradientNoise> estimate_noise(std::span<const GradientSquares> steps, double local_batch,
                                            int ranks);

}  // namespace isobar
