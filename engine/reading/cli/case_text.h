#pragma once
// What is found of runs for a person and a program: some against the first, and what bounds one.
#include <cstddef>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "analyse/run_verdict.h"
#include "cli/report.h"

namespace isobar {

/// All cases against the first one. Sentences take at most `columns`, tables `table`: there columns that
/// other lines have too are left out (MFU, memory, time of a step, number of runs, loss, in that order), then
/// names and values are cut in their middle.
Report compare_report(const std::vector<RunCase>& cases, std::size_t columns, std::size_t table);

/// By its quartet where there is one, and by what its lesson and configuration tell: less where they are not
/// of this tree.
RunVerdict verdict_of(const RunCase& run);

/// One thing to notice and one to try; nothing of what is empty.
void add_remark(Report& out, const std::string& notice, const std::string& next, std::size_t columns);

/// A verdict for a person and for a program. Lines of at most `columns`, where commands allow it.
Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns);

}  // namespace isobar
