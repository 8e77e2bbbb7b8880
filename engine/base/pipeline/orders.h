#pragma once
// In which order one rank works, by form: what the exercise of lesson 15 stands for. Used by make_schedule.
#include <vector>

#include "core/seam.h"
#include "pipeline/schedule.h"

namespace isobar {

/// `rank` of `ranks` with `chunks` stages; `parts` is a multiple of `ranks` for interleaved.
std::vector<PipelineAction> order_of(PipelineForm form, int rank, int ranks, int chunks, int parts);

namespace seams {

inline constinit Seam<std::vector<PipelineAction>(PipelineForm form, int rank, int ranks, int chunks,
                                                  int parts)>
    order_of{isobar::order_of};

}  // namespace seams
}  // namespace isobar
