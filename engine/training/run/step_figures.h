#pragma once
// The numbers that a step leaves on its device, and how they come to the host without a wait of their own.
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <limits>

#include "train/grad_scaler.h"

namespace isobar {

struct StepFigures {
  double loss = 0;       ///< mean over all ranks where a report is due, else this rank's
  double nonfinite = 0;  ///< gradients so far that were not finite, where that ends a run; CUDA devices only
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  ///< meaningless unless it was handed over
  double scale = 0;           ///< loss scale after the step; 0 = not scaled
  double skipped = 0;         ///< steps so far that were skipped because a gradient overflowed
  double skipped_in_row = 0;  ///< the last so many
  double own_loss = 0;        ///< this rank's
};

/// What a step hands over, as tensors on its device; undefined where there is none.
struct FigureTensors {
  at::Tensor loss;                     ///< scalar
  at::Tensor nonfinite;                ///< scalar
  at::Tensor gradient_norm;            ///< scalar
  const GradScaler* scaler = nullptr;  ///< null or not active: the loss is not scaled
  at::Tensor own_loss;                 ///< scalar
};

/// Figures on their way to host memory, on a CPU there already. On a CUDA device one copy is queued behind
/// the step, which nobody waits for: `take` is called when the step's times are ready.
class FetchedFigures {
 public:
  FetchedFigures() = default;  ///< nothing was fetched
  explicit FetchedFigures(const FigureTensors& tensors);

  explicit operator bool() const { return fetched_; }
  StepFigures take() const;

 private:
  bool fetched_ = false;
  StepFigures here_;   ///< used on a CPU
  at::Tensor coming_;  ///< used on a CUDA device: [7] float64 in host memory, in the order of StepFigures
};

}  // namespace isobar
