#pragma once
// A scaling study continued by the simulation of engine/base/cluster: computing takes what the fewest
// measured ranks took, gradients go round a ring. Beside what was measured, it shows how good it is here.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/scaling.h"
#include "cluster/training_job.h"
#include "config/config.h"
#include "formula/link.h"

namespace isobar {

/// To 8 times the most ranks measured.
inline constexpr std::int64_t kUsualContinuation = -1;

/// What a simulation takes beyond the measured points.
struct SimulatedStudy {
  const Config& config;                     ///< configuration of the fewest ranks
  std::optional<Link> link = {};            ///< between ranks; nothing = not known
  std::string link_words = "";              ///< what it is, for the protocol
  double processors_a_rank = 1;             ///< what a rank uses
  double processors = 0;                    ///< shared by all ranks of a measured point; 0 = each has its own
  std::int64_t up_to = kUsualContinuation;  ///< ranks; 0 = none
};

struct SimulatedPoint {
  std::int64_t ranks = 1;
  double batch = 0;                ///< samples a step, of all ranks
  bool shares_processors = false;  ///< like the measured ranks; else each has its own
  StepTerms terms = {};
  double samples_per_s = 0, efficiency = 1;
  /// Where one was measured like that: simulated / measured step - 1.
  std::optional<double> error = {};
};

struct SimulatedScaling {
  ScalingLine line = ScalingLine::synthetic;  ///< whose step calibrates computing
  /// Ascending. The first is the base, ranks with a processor each.
  std::vector<SimulatedPoint> points = {};
  std::vector<std::string> protocol = {};  ///< sentences; without points, why there are none
  bool empty() const { return points.size() < 2; }
};

/// Points of the numbers of ranks that were measured, and of 2, 4, .. times the most of them.
SimulatedScaling simulate_scaling(const Scaling& measured, const SimulatedStudy& study);

}  // namespace isobar
