#pragma once
// One training step of a page, which enters stages and gives the results at the end.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "device/stage_timer.h"
#include "train/sync_figures.h"

namespace isobar {

/// What a step hands over when it ends.
struct StepResult {
  at::Tensor loss;  ///< scalar; fetched from the device only when a report is due
  double learning_rate = 0;
  at::Tensor gradient_norm = {};  ///< scalar on its device; fetched with the loss, undefined = not known
  std::int64_t samples = 0;
  std::int64_t epoch = 0;
  SyncFigures sync = {};  ///< averaging of gradients; 0 calls = there was none
};

/// Hears what a step does.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// The stage has begun, and what this takes is part of it.
  virtual void entered(Stage stage) = 0;
  /// All stages have ended; `timer` still runs and is to be finished.
  virtual void finished(std::int64_t step, const StepResult& result, StageTimer& timer) = 0;
};

class Step {
 public:
  /// `listener` outlives it.
  Step(std::int64_t index, StageTimer timer, StepListener& listener);

  std::int64_t index() const { return index_; }  ///< from 0

  /// Stands in front of what it times; may be called any number of times.
  void enter(Stage stage);
  /// Ends the stage: time until the next one belongs to none.
  void leave() { timer_.leave(); }

  /// Ends the step and records it. What follows (validation, say) belongs to no step.
  void finish(const StepResult& result);

 private:
  std::int64_t index_;
  StageTimer timer_;
  StepListener& listener_;
};

}  // namespace isobar
