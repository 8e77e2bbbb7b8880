#pragma once
// Whether ranks that are to hold the same weights do, to the bit.
#include <string>

#include "core/fault.h"
#include "model/parameters.h"
#include "run/progress.h"
#include "run/rank_groups.h"
#include "run/run_output.h"

namespace isobar {

class ReplicaCheck {
 public:
  /// All of these outlive it. Error (exit code 1) on all ranks when they hold parameters of different names
  /// or shapes.
  ReplicaCheck(const Parameters& parameters, RankGroups& groups, const Progress& progress,
               const CommConfig& config, const FaultSetting& fault, RunOutput& output);

  /// Every comm.hash_every steps and at the end: Error (exit code 1) that names a parameter and the ranks
  /// where it is another. Replicas that nobody keeps together (comm.sync = none, or a mistake on purpose) are
  /// not asked to be equal: with each report it says how far they are apart. A run that only measures, or
  /// trains on one rank, compares nothing.
  void compare_when_due();

 private:
  void compare();
  void tell_apart();

  const Parameters& parameters_;
  RankGroups& groups_;
  const Progress& progress_;
  std::int64_t every_;
  bool drifts_;
  bool drifts_within_;  ///< among the ranks of one model, else between models
  RunOutput& output_;
};

}  // namespace isobar
