#pragma once
// What is told of a run.
#include <filesystem>
#include <string>

#include "analyse/run_reader.h"
#include "cli/report.h"

namespace isobar {

/// "after 128 steps  loss 0.2944  u10m RMSE 0.2481 ..."
std::string scores_line(const RunScores& scores);

/// "step 40/900  epoch 1  loss 0.3113  150.2 samples/s  12 s left  load 4 %, ..."
std::string live_line(const RunView& view);

/// "[fault no_shuffle] [disk of 290 MB/s] ", "" for a plain run.
std::string marks_text(const RunView& view);

/// "01_baseline-20261121-010208-7295  died: it never said its end; last sign 4 min ago"
std::string head_line(const RunReader& reader);

/// All that `show RUN` says. `where` is the folder to name, which of a replay need not be the one that is
/// read; "" = that one.
Report run_report(const RunReader& reader, const std::filesystem::path& where = {});
Report run_report(const std::filesystem::path& run);

}  // namespace isobar
