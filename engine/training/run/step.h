#pragma once
// One training step as the page sees it: it says which stage begins, and at the end what came out.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "data/loader.h"
#include "device/operator_watch.h"
#include "device/ranges.h"
#include "device/stage_timer.h"
#include "run/step_figures.h"
#include "train/sync_figures.h"

namespace isobar {

class Run;

/// What a step hands over when it ends.
struct StepResult {
  at::Tensor loss;  ///< scalar; fetched from the device only when a report is due
  double learning_rate = 0;
  at::Tensor gradient_norm = {};  ///< scalar on its device; fetched with the loss, undefined = not known
  std::int64_t samples = 0;
  std::int64_t epoch = 0;
  SyncFigures sync = {};  ///< of the averaging of gradients; 0 calls = there was none
};

/// A step that the host is done with; the device may still be at it.
struct PendingStep {
  std::int64_t index;
  StepResult result;
  FetchedFigures fetched;  ///< to be taken once the times are ready; false when no report is due
  PendingStageTimes times;
  std::int64_t t_us;                         ///< since the run began, when the host was done
  LoaderCounts loader;                       ///< what the loader did for it
  std::shared_ptr<OperatorWatch> operators;  ///< of the one step that was watched, else null
};

class Step {
 public:
  Step(Run& run, std::int64_t index);

  std::int64_t index() const { return index_; }  ///< from 0

  /// Stands in front of what it times; may be called any number of times.
  void enter(Stage stage);

  /// Ends the step and records it. What follows (validation, say) belongs to no step.
  void finish(const StepResult& result);

 private:
  Run& run_;
  std::int64_t index_;
  StepRanges ranges_;
  StageTimer timer_;
  std::shared_ptr<OperatorWatch> operators_;  ///< null in all steps but one
};

}  // namespace isobar
