#pragma once
#include <cstddef>

#include "analyse/run_verdict.h"
#include "cli/report.h"

namespace isobar {

/// A verdict for a person and for a program. Lines of at most `columns`, where commands allow it.
Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns);

}  // namespace isobar
