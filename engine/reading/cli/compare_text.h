#pragma once
// Runs side by side, for a person and for a program.
#include <cstddef>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "cli/report.h"

namespace isobar {

/// "A", "B", ..., "Z", "27", ...
std::string case_label(std::size_t index);

/// All cases against the first one. Lines of at most `columns`, where names allow it.
Report compare_report(const std::vector<RunCase>& cases, std::size_t columns);

}  // namespace isobar
