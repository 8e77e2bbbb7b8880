#pragma once
// How far repeats of one setting were ever recorded apart: what lies further apart than that differs, even if
// each was measured once.
#include "analyse/run_view.h"
#include "analyse/steady.h"

namespace isobar {

/// The largest rate over the smallest among repeats of one setting: the largest ratio of all that are
/// recorded in this tree. tests/reading/analyse/test_spread.cpp reads the records again.
///
/// Processors: docs/measuring.md, the table of Scaling (2 cores of a shared Intel Xeon, 3 runs each). Its
/// efficiency goes from 42 to 107 %, which holds the spreads of two points: 1.60 each. Others are 1.51 (15
/// blocks, tests/bench/results/telemetry.json), 1.49 (5 runs, lessons/10_buckets/recorded), and 1.14 of 130
/// runs beside another program, 1.09 of 130 quiet ones (tests/reading/analyse/equal_runs.json).
inline constexpr double kProcessorsApart = 1.60;
/// GPU: 5 blocks of a step of batch 1 in tests/bench/results/h200/rungs-1.json, which waits for the host.
inline constexpr double kGpuApart = 1.29;

/// That of the machine of a run; of one that names none the larger.
double recorded_apart(const RunView& run);

/// Rates of single runs that lie further apart than this differ: even if each was as far off as the furthest
/// repeats lay from one another. 0 = no record tells, since other programs took part of the processors.
double far_apart(const RunView& one, const RunView& other);
/// How far apart rates of a few repeats must lie; 0 where one of the two has none.
double far_apart(const Repeats& one, const Repeats& other);

}  // namespace isobar
