#pragma once
// Runs side by side, for a person and for a program.
#include <cstddef>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "cli/report.h"

namespace isobar {

/// All cases against the first one. Sentences take at most `columns`, tables `table`: there columns that
/// other lines say too are left out (MFU, memory, time of a step, number of runs, loss, in that order), then
/// names and values are cut in their middle.
Report compare_report(const std::vector<RunCase>& cases, std::size_t columns, std::size_t table);

}  // namespace isobar
