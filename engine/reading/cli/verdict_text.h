#pragma once
#include <cstddef>

#include "analyse/run_verdict.h"
#include "cli/report.h"

namespace isobar {

/// What the run's lesson and configuration tell; less where they are not of this tree.
RunFacts facts_of(const RunCase& run);

/// A verdict for a person and for a program. Lines of at most `columns`, where commands allow it.
Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns);

}  // namespace isobar
