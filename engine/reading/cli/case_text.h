#pragma once
// What is found of runs for a person and a program: some against the first, and what bounds one.
#include <cstddef>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "analyse/run_verdict.h"
#include "cli/report.h"

namespace isobar {

/// All cases against the first one. Sentences take at most `columns`, tables `table`: there columns that
/// other lines say too are left out (MFU, memory, time of a step, number of runs, loss, in that order), then
/// names and values are cut in their middle.
Report compare_report(const std::vector<RunCase>& cases, std::size_t columns, std::size_t table);

/// What the run's lesson and configuration tell; less where they are not of this tree.
RunFacts facts_of(const RunCase& run);

/// A verdict for a person and for a program. Lines of at most `columns`, where commands allow it.
Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns);

}  // namespace isobar
