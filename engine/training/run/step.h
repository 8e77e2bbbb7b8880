#pragma once
// One training step of a page, which enters stages and gives the results at the end.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "device/stage_timer.h"
#include "formula/gradient_noise.h"
#include "running/step.h"
#include "train/sync_figures.h"

namespace isobar {

/// What a step hands over when it ends.
struct StepResult {
  at::Tensor loss;  ///< scalar; fetched from the device only when a report is due
  double learning_rate = 0;
  at::Tensor gradient_norm = {};  ///< scalar on its device; fetched with the loss, undefined = not known
  std::int64_t samples = 0;
  std::int64_t epoch = 0;
  SyncFigures sync = {};         ///< averaging of gradients or weights; 0 calls = none in this step
  ErrorNorms error = {};         ///< what compression left out
  GradientSquares squares = {};  ///< how long gradients are before and behind their average
};

class Recorder;
using Step = StepOf<Recorder, StageTimer, StepResult>;

}  // namespace isobar
