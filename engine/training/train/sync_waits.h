#pragma once
// Who held a rank up in a step.
#include <cstdint>
#include <vector>

#include "comm/comm.h"
#include "model/context_parallel.h"
#include "model/model_ranks.h"
#include "train/sync_figures.h"

namespace isobar {

/// The thread that computes stood still for a message.
struct StoodStill {
  std::int64_t begin_us = 0;  ///< on the steady clock
  std::int64_t end_us = 0;
};

/// Fills in waited_us, what this rank stood still between the end of the collective before and the call of
/// the last rank, over all collectives of a step, and waited_for, the rank that most of it is due to. Leaves
/// them where it is not known who came when. Without `stood` it stood still from its own last call on.
void add_waits(const std::vector<CollectiveTimes>& times, std::vector<StoodStill> stood,
               SyncFigures& figures);

/// Figures of a step: `times` of the collectives of `comm` in their order, what that counted (`before`: at
/// the begin of the step), where this rank stood still, and what the ranks of a model sent each other.
SyncFigures sync_figures(const std::vector<CollectiveTimes>& times, std::vector<StoodStill> stood,
                         const Comm& comm, const CommCounts& before, const TensorParallelFigures& split);

/// What ranks that share tokens sent each other in a step, as calls and bytes, and cp_* of these; behind the
/// sum of their partial gradients.
SyncFigures context_figures(const ContextParallel& context);

}  // namespace isobar
