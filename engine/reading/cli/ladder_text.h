#pragma once
// What the ladder says: tables for a person, one JSON object for a program.
#include <string>
#include <vector>

#include "analyse/ladder.h"
#include "cli/measured_runs.h"
#include "config/lesson.h"

namespace isobar {

/// What was measured, with its judgement, lesson by lesson.
struct LadderResult {
  std::vector<LessonInfo> lessons;    ///< that were run
  std::vector<RungVerdict> verdicts;  ///< of those
  std::vector<std::string> left_out;  ///< sentences: which lesson is not run here, and why
};

/// Tables, or {"ladder": group, ..., steps, rungs [...], left_out [...], published [...]}: published figures
/// were recorded elsewhere and are in no ratio with the measured ones.
Report ladder_report(const LadderResult& result, const MeasuredRuns& runs, const MeasureArguments& arguments);

}  // namespace isobar
