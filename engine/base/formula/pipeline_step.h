#pragma once
// The step of a pipeline, predicted: what each stage's work takes, on the clock of pipeline/course.h.
#include <cstdint>
#include <vector>

#include "config/config.h"
#include "formula/link.h"
#include "formula/step_time.h"
#include "pipeline/course.h"
#include "pipeline/schedule.h"

namespace isobar {

/// What goes over the boundary behind a stage in a step: the residual stream forward and its gradient back.
struct BoundaryTraffic {
  int stage = 0;                   ///< in front of the boundary
  int from_rank = 0, to_rank = 0;  ///< forward; equal = nothing is sent
  std::int64_t messages = 0;       ///< in both directions
  double bytes = 0;                ///< in both directions
};

struct PipelineTimes {
  PipelineSchedule schedule = {};
  std::vector<StageBlocks> blocks = {};
  std::vector<std::int64_t> parameters = {};  ///< each rank's
  PipelineCosts costs = {};
  PipelineCourse course = {};
  std::vector<BoundaryTraffic> boundaries = {};

  int ranks() const { return static_cast<int>(schedule.ranks.size()); }
  double sent_bytes(int rank) const;  ///< a step
  /// Busy time of a rank in forward passes; the rest of it is backward.
  double forward_us(int rank) const;
};

/// Times of stages out of `time`, the step of the whole model in form.passes micro-batches on one rank:
/// blocks evenly, products of the embedding and the head by their operations, loss and un-patching on the
/// last stage. W takes what the forward pass of the same products does, I the rest. `link` is between
/// neighbours. `at_once`: how many ranks compute at full speed together (PipelineCosts).
PipelineTimes pipeline_times(const Config& config, const StepForm& form, const StepTime& time,
                             const Link& link, double at_once);

}  // namespace isobar
