#pragma once
// One step of a pipeline on a clock, predicted or of a run, and what its ranks wait for.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/choices.h"
#include "pipeline/course.h"

namespace isobar {

struct PipelineStep {
  PipelineCourse course = {};
  int stages = 1;                         ///< over all ranks
  std::optional<PipelineForm> form = {};  ///< nothing where it is not known
  bool is_measured = false;               ///< else predicted
  bool is_whole = true;                   ///< else actions of some micro-batches or stages are missing
  std::int64_t step = -1;                 ///< its number in the run; -1 = none
  double unit_us = 1e3;                   ///< what the axis counts
  std::string axis = "time in ms";
  std::vector<int> named = {};  ///< the rank of each row, where ranks of other pipelines are left out

  int ranks() const { return static_cast<int>(course.busy_us.size()); }
  int name_of_row(int row) const { return named.empty() ? row : named.at(static_cast<std::size_t>(row)); }
  int parts() const;  ///< micro-batches
  int stages_a_rank() const { return ranks() > 0 ? stages / ranks() : 1; }
  /// Whether there is something to draw.
  bool is_there() const { return !course.actions.empty() && course.step_us > 0; }
  double idle_of(int rank) const;       ///< share of the step
  std::string keeps_of(int row) const;  ///< the most micro-batches, of all blocks of the rank; "" = not known
  std::vector<int> row_of_stages() const;   ///< -1 = none has the stage
  std::vector<int> places_in_rank() const;  ///< by stage: how many in front of it are on its rank
};

/// When the rank of an action had nothing to compute before it, and for whom it waited.
struct PipelineWait {
  double idle_us = 0;
  double late_us = 0;                  ///< the part in which the needed action on another rank had not ended
  double message_us = 0;               ///< the rest, where there is such an action: its message was under way
  std::optional<std::size_t> on = {};  ///< the action on another rank: place in PipelineCourse::actions
};
PipelineWait wait_before(const PipelineStep& step, std::size_t action);

/// Means over the ranks, as shares of the step: PipelineWait of all actions, time before actions that wait
/// for no other rank, and time behind a rank's last one. They add up to the idle share.
struct PipelineIdle {
  double late = 0, message = 0, between = 0, behind = 0;
};
PipelineIdle idle_parts(const PipelineStep& step);

/// By formula, where the schedule has one and the step is whole: (p - 1) / (v m + p - 1) of the step, (p - 1)
/// / (v m) of ideal time.
struct BubbleFormula {
  double of_step = 0, of_ideal = 0;
};
std::optional<BubbleFormula> bubble_formula(const PipelineStep& step);

/// Means of each stage over these steps, which are of one schedule: B counts half as I and half as W where it
/// is not split. Stages without an action take no time.
PipelineCosts mean_costs(const std::vector<PipelineStep>& steps);

/// The stage whose micro-batches take the longest: F, B, I and W of one. -1 = no stage takes any time.
struct SlowestStage {
  int stage = -1;
  double part_us = 0;    ///< a micro-batch
  double others_us = 0;  ///< mean of the other stages
};
SlowestStage slowest_stage(const PipelineCosts& costs);

/// "idle 27.3 % of the step (by formula 27.3 %), 37.5 % beside the ideal step (by formula 37.5 %)"
std::string idle_words(const PipelineStep& step);

/// What one action did and waited for: "rank 1, F3 of stage 1: 1.20 to 2.10 ms (0.90 ms); idle before it 0.40
/// ms: waited 0.30 ms for F3 of stage 0 on rank 0, 0.10 ms for its message".
std::string action_words(const PipelineStep& step, std::size_t action);

/// "F3"
std::string work_words(const PipelineAction& action);

}  // namespace isobar
