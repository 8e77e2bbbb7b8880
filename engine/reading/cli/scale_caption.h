#pragma once
// What `scale` measured and simulated, and the sentences below its table and its plots: how it was measured.
#include <filesystem>
#include <string>

#include "analyse/simulated_scaling.h"
#include "cli/measured_runs.h"
#include "cli/scale_arguments.h"
#include "plot/scaling_picture.h"

namespace isobar {

/// What was measured, with all that stands beside it.
struct ScaleResult {
  const ScaleArguments& arguments;
  const ScalePlan& plan;
  const MeasuredRuns& runs;  ///< runs of the plan's points
  Scaling scaling;
  SimulatedScaling simulated = {};
  ScalingCaption caption = {};
  std::filesystem::path svg = {};  ///< "" = the picture could not be written
};

/// Name and processors of what it was measured on.
std::string machine_of(const ScaleResult& result);

/// The continuation of what was measured, over comm.link or the kept link of this machine.
SimulatedScaling simulated_beyond(const ScaleResult& result);

/// Title, where it was measured, and how: what is printed under the table and under the plots.
ScalingCaption caption_of(const ScaleResult& result);

}  // namespace isobar
