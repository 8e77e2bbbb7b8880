#pragma once
// Lines that tell of a run while it goes on.
#include <string>

#include "analyse/run_view.h"

namespace isobar {

/// "after 128 steps  loss 0.2944  u10m RMSE 0.2481 ..."
std::string scores_line(const RunScores& scores);

/// "step 40/900  epoch 1  loss 0.3113  150.2 samples/s  12 s left  load 4 %, ..."
std::string live_line(const RunView& view);

/// "[fault no_shuffle] [disk of 290 MB/s] ", "" for a plain run.
std::string marks_text(const RunView& view);

}  // namespace isobar
