#pragma once
// What `scale` says: a table and its protocol for a person, one JSON object for a program.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/measured_runs.h"
#include "cli/scale_arguments.h"
#include "draw/scaling_picture.h"

namespace isobar {

/// What was measured, with all that stands beside it.
struct ScaleResult {
  const ScaleArguments& arguments;
  const ScalePlan& plan;
  const MeasuredRuns& runs;  ///< of the plan's points
  Scaling scaling;
  ScalingCaption caption = {};
  std::filesystem::path svg = {};  ///< "" = the picture could not be written
};

/// Title, where it was measured, and how: what is printed under the table and under the plots.
ScalingCaption caption_of(const ScaleResult& result);

/// A table and its protocol, or {"scale": lesson, ..., law, machine, threads_per_rank, processors,
/// base_ranks, steps, target_loss, protocol [...], notes [...], svg, points [...], parts [...]}. A gap has no
/// figures.
Report scaling_report(const ScaleResult& result);

}  // namespace isobar
