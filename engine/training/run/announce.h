#pragma once
#include <cstdint>

#include "data/dataset.h"
#include "data/loader.h"
#include "run/rank_groups.h"
#include "run/run_output.h"
#include "run/run_plan.h"

namespace isobar {

/// What a page trains, with what.
struct Trained {
  const Dataset& train;
  const Dataset& valid;
  const Loader& loader;
  std::int64_t parameters;  ///< parameters of the whole model
  std::int64_t steps_per_epoch;
};

/// Says what is about to be trained, on what, and where the run folder is; with comm.probe what the network
/// of the ranks gives. Error (exit code 2) when ranks see different data.
void announce(const RunPlan& plan, const Trained& trained, RankGroups& groups, RunOutput& output,
              std::int64_t first_step);

}  // namespace isobar
