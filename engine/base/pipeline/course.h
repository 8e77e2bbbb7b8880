#pragma once
// A schedule on a clock of events: when each action begins and ends, how long ranks are idle, what they keep.
#include <cstdint>
#include <vector>

#include "pipeline/schedule.h"

namespace isobar {

/// Times of one micro-batch, by stage, in us.
struct PipelineCosts {
  std::vector<double> forward_us;
  std::vector<double> input_us;  ///< B takes input_us + weight_us
  std::vector<double> weight_us;
  /// A message between ranks; those of one direction and boundary leave one behind the other. Within a rank
  /// 0.
  double message_us = 0;
  /// By the stage in front of a boundary; empty = message_us for all.
  std::vector<double> boundary_us = {};
  /// So many actions run at full speed at a time; of more each takes longer, evenly. 0 = any number.
  double at_once = 0;

  /// Equal stages.
  static PipelineCosts equal(int stages, double forward_us, double input_us, double weight_us,
                             double message_us = 0);
};

/// Micro-batches whose activations a rank keeps while its actions pass in order: from F to B, or to W,
/// counted by stage.
class KeptCount {
 public:
  void pass(PipelineWork work) {
    if (work == PipelineWork::forward && ++now_ > most_) most_ = now_;
    if (work == PipelineWork::backward || work == PipelineWork::weight) --now_;
  }
  int most() const { return most_; }

 private:
  int now_ = 0;
  int most_ = 0;
};

struct PlacedAction {
  int rank = 0;
  PipelineAction action = {};
  double begin_us = 0;
  double end_us = 0;
};

struct PipelineCourse {
  std::vector<PlacedAction> actions = {};  ///< by rank, then in its order
  double step_us = 0;                      ///< from the first action to the end of the last one
  std::vector<double> busy_us = {};        ///< a rank
  /// The most micro-batches whose activations a rank keeps at a time, counted by stage: from F to B, or to W.
  std::vector<int> peak_kept = {};

  /// 1 - sum of busy / (p step): the bubble as a share of the step.
  double idle_share() const;
  /// Idle time over the time that ranks are busy: the bubble beside the ideal step.
  double idle_of_ideal() const;
};

/// `schedule` was checked.
PipelineCourse course_of(const PipelineSchedule& schedule, const PipelineCosts& costs);

/// How long a rank of equal stages is idle in a step, from times of one micro-batch at one stage; messages
/// take no time. (p - 1) (F + I + W); zb_h1 (p - 1) (F + I - W) (Qi et al. 2024, table 1), for m >= p and W
/// no longer than F and I; zb_v (p - 1) F, for m >= 2 p - 1 and all three equal: what is left is the time to
/// and from the ranks at the ends, which the authors leave out of a rank's count. With fewer micro-batches
/// both are idle longer. `form` is not `file`.
double idle_us(PipelineForm form, std::int64_t ranks, double forward_us, double input_us, double weight_us);

/// (p - 1) / (v m + p - 1) of the step, for equal stages and messages that take no time; of ideal time
/// (p - 1) / (v m). gpipe, 1f1b (v = 1) and interleaved.
double bubble_of_step(std::int64_t ranks, std::int64_t parts, std::int64_t stages_a_rank = 1);
double bubble_of_ideal(std::int64_t ranks, std::int64_t parts, std::int64_t stages_a_rank = 1);

}  // namespace isobar
