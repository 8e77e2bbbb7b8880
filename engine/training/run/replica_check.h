#pragma once
// Whether ranks that are to hold the same weights, or the same buffers, do, to the bit.
#include <string>

#include "config/fault.h"
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
  /// not asked to be equal: each report states how far they are apart. A run that only measures, or
  /// trains on one rank, compares nothing. Where replicas share weights out (mesh.zero = 3) those that own
  /// the same part are compared.
  ///
  /// Buffers that change in training: without comm.broadcast_buffers each report states how far they are
  /// apart. With it they are rank 0's at each forward pass, and apart behind a training step,
  /// which moves them by each rank's own batch: they are compared behind a validation
  /// (GradientSync::share_buffers), where Error (exit code 1) names one that differs.
  void compare_when_due();

 private:
  /// Ranks that hold the same values as this one; null = none does.
  Comm* holders() const;
  void compare();
  void tell_apart();
  void look_at_buffers();
  void tell_buffers_apart();
  /// The largest distance of `own` from that of the first rank of `group`, on all ranks: as a note of the
  /// stream this rank's, on the console that of all.
  void tell(const char* note, const at::Tensor& own, Comm& group, const char* what, const char* whose);

  const Parameters& parameters_;
  RankGroups& groups_;
  const Progress& progress_;
  std::int64_t every_;
  bool drifts_;
  bool drifts_within_;  ///< among ranks that share layers, else among those that hold the same
  bool has_buffers_;    ///< saved ones
  bool shares_buffers_;
  RunOutput& output_;
};

}  // namespace isobar
