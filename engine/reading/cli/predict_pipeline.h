#pragma once
// A predicted step of a pipeline: who works when, what each rank holds, what the ranks send each other.
#include "analyse/predicted_run.h"
#include "cli/predict_against.h"
#include "cli/report.h"

namespace isobar {

/// Where the schedule goes as PyTorch's CSV (pipeline/schedule.h); without a path nowhere.
inline NamedFile schedule_file() { return {.path = {}, .option = "--csv", .kind = "schedule", .mark = ""}; }

/// Adds its drawing, on the terminal and into arguments.svg, a row a rank and a row a boundary, and writes
/// `csv`. Of no effect for a prediction without one.
void add_pipeline(Report& report, const Prediction& prediction, const ClusterArguments& arguments,
                  const NamedFile& csv);

}  // namespace isobar
