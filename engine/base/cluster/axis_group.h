#pragma once
// Where the ranks of an axis of a job's mesh stand on a cluster, and what its messages take there.
#include <string_view>

#include "cluster/training_job.h"

namespace isobar {

/// The ranks that differ on one axis only: so many on each of so many nodes, and how many such groups use the
/// network cards of a node at once.
struct AxisGroup {
  NodeGroup ranks = {};
  int sharing = 1;
  bool leaves_node() const { return ranks.nodes > 1; }
};

/// "tp", "cp", "pp", "dp", "ens" (neighbours along dp) or "data", by TrainingJob::order. Error (exit code 2)
/// for another axis, and where the job's ranks form no whole models.
AxisGroup axis_group(const ClusterMachine& machine, const TrainingJob& job, std::string_view axis);
/// So many ranks that are `stride` apart.
AxisGroup strided_group(const ClusterMachine& machine, int ranks, int stride);
/// How far apart neighbours of an axis are, in ranks.
int axis_stride(const TrainingJob& job, std::string_view axis);
/// Models that train side by side.
int models_of(const TrainingJob& job);

/// TrainingJob::messages in a pass forward and backward, and behind the last pass; nothing is computed beside
/// them.
struct AxisTimes {
  double forward_us = 0, backward_us = 0, behind_us = 0;
  double pass_bytes = 0, behind_bytes = 0;  ///< sent by a rank
};
AxisTimes axis_times(const ClusterMachine& machine, const TrainingJob& job, const LinkTerms& terms);

}  // namespace isobar
