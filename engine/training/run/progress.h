#pragma once
// How far a run is: what its loop, its scores and its checkpoints go by.
#include <cstdint>

namespace isobar {

struct Progress {
  std::int64_t steps = 0;  ///< to be made (train.steps)
  std::int64_t report_every = 1;
  std::int64_t steps_per_epoch = 1;
  std::int64_t first_step = 0;  ///< the attempt's first step
  std::int64_t steps_done = 0;
  std::int64_t scored_step = -1;      ///< steps done at the last complete evaluation
  std::int64_t checkpoint_step = -1;  ///< step of the newest checkpoint
  bool measures = false;              ///< run.measure: such a run is neither scored nor saved

  bool all_done() const { return steps_done >= steps; }

  /// Scores are due at the start, after each epoch and at the end, once each.
  bool scores_due() const {
    if (measures) return false;
    return (steps_done % steps_per_epoch == 0 || all_done()) && scored_step != steps_done;
  }

  /// Whether the loss of `step` (from 0) is fetched and reported.
  bool report_due(std::int64_t step) const { return step % report_every == 0 || step + 1 == steps; }
};

}  // namespace isobar
