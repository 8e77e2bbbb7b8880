#pragma once
// Values that are not finite must not reach the weights, nor go unsaid.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "config/config.h"
#include "run/progress.h"
#include "run/step.h"
#include "run/step_figures.h"
#include "train/training_state.h"

namespace isobar {

/// Throws (Error, exit code 1) where a value is not finite: which tensor, in which step, and which checkpoint
/// is still good. Where the loss is scaled (fp16) an overflow is no error: its step is skipped. On a CUDA
/// device such values are counted, and reported when a report is due, so that the host does not wait. Made-up
/// data (run.measure = synthetic) is not guarded.
class GradientGuard {
 public:
  /// `config`, `training` and `progress` outlive it. `ranks` train together, `model_ranks` of them share this
  /// rank's model.
  GradientGuard(const Config& config, const Training& training, const Progress& progress, int ranks,
                int model_ranks);

  /// In front of an optimiser that takes gradients as they are.
  void check(const Step& step);
  /// Behind one that looks at them itself, and left the weights alone where the length of the gradient that
  /// it gives (scalar) is not finite.
  void check(const Step& step, const at::Tensor& gradient_norm);

  /// Gradients so far that were not finite, int64 scalar; on a CUDA device only, else undefined.
  const at::Tensor& nonfinite() const { return nonfinite_; }
  bool scales_loss() const { return training_.scaler != nullptr && training_.scaler->active(); }

  /// What step `index` left, once the host has it: whether it ends the run ...
  bool is_broken(const StepFigures& figures) const;
  /// ... and throws then, as after amp.max_skips skipped steps in a row.
  void check(std::int64_t index, const StepFigures& figures) const;

 private:
  bool on_device() const { return nonfinite_.defined(); }
  /// Returns where the step is skipped only.
  void tell(std::int64_t index) const;
  void check_skips(std::int64_t index, const StepFigures& figures) const;

  const Config& config_;
  Training training_;
  const Progress& progress_;
  int ranks_;
  int model_ranks_;
  bool guards_;
  at::Tensor nonfinite_;
};

/// The first parameter, in the order of the forward pass, that holds a value that is not finite; "" = none
/// does.
std::string first_broken_weight(const Parameters& parameters);

}  // namespace isobar
