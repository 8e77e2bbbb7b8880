#pragma once
// Memory of one rank of a pipeline: weights of its stages, and activations by the order of its work.
#include <cstdint>
#include <vector>

#include "formula/vit_memory.h"
#include "pipeline/schedule.h"

namespace isobar {

/// Parameters of stages, blocks [first, end) each: the first stage has the embedding too, the last one norm
/// and head. Of split layers a share, as parameters_on_rank has it.
std::int64_t parameters_of_stages(const VitShape& shape, std::int64_t tp,
                                  const std::vector<StageBlocks>& blocks, const std::vector<int>& stages);

/// Bytes of one micro-batch at one stage.
struct StageBytes {
  std::uint64_t kept = 0;     ///< from F on
  std::uint64_t split = 0;    ///< from I to W
  std::uint64_t working = 0;  ///< beside it in a backward pass
};
StageBytes bytes_of_stage(const VitShape& shape, const TrainingForm& form,
                          const std::vector<StageBlocks>& blocks, int stage);

/// The most blocks whose activations `rank` keeps at a time, each as often as it has micro-batches there.
std::int64_t kept_blocks(const PipelineSchedule& schedule, const std::vector<StageBlocks>& blocks, int rank);

/// What `rank` holds where it holds most; `schedule` was checked, `blocks` are of all stages. A stage keeps a
/// micro-batch from F to B as count_training_bytes has it for its blocks (patches are the first stage's, the
/// last norm the last one's). Between I and W it keeps what its linear layers take and the gradients of what
/// they give, of R E 16 v/t a block, in place of the rest. `in_flight` has messages of 4/s R E:
/// for each neighbour and direction one, and those that a slow neighbour may leave waiting where they and the
/// activations take most. (A device whose host runs ahead may hold more.)
TrainingBytes count_pipeline_bytes(const VitShape& shape, const TrainingForm& form,
                                   const PipelineSchedule& schedule, const std::vector<StageBlocks>& blocks,
                                   int rank);

}  // namespace isobar
