#pragma once
// What the figures of runs look like as bars: the page, the window and the demo take these values and add who
// the runs are, in which colour.
#include <string>

#include "analyse/run_comparison.h"
#include "analyse/steady.h"
#include "draw/stage_bars.h"

namespace isobar {

/// Stages of a step and as "rest" what is left of it: means of the repeat whose step is the median one, so
/// that they add up to it. Empty where no step behind the warm-up has a time.
StageTimes stage_times(const Repeats& repeats);

/// Rates and stages of a run among others.
ScoreRow score_row(const Repeats& repeats);

/// From one run to another; stages that are small beside the largest difference are one bar, "others".
WaterfallSpec waterfall_of(const RunComparison& found, const std::string& base, const std::string& other);

}  // namespace isobar
