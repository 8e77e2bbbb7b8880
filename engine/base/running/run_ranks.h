#pragma once
// The ranks of a run as its page sees them: what they send is as comm.sync and run.fault say.
#include <span>

#include "config/config.h"
#include "ring/ring_group.h"

namespace isobar {

class RunRanks {
 public:
  /// `group` outlives it.
  RunRanks(RingGroup& group, const CommConfig& config) : group_(group), config_(config) {}

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  RingGroup& group() { return group_; }  ///< sends whatever it is told to

  /// The values of rank 0, in place, on every rank.
  void broadcast(std::span<double> values) {
    if (config_.broadcasts_start) group_.broadcast(values);
  }
  /// The mean over the ranks, in place and the same bits on each; with comm.sync = none nothing happens.
  void average(std::span<double> values) {
    if (config_.sync == SyncKind::none) return;
    config_.divides ? group_.mean(values) : group_.sum(values);
  }

 private:
  RingGroup& group_;
  CommConfig config_;
};

}  // namespace isobar
