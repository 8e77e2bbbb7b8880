#pragma once
// The ranks of a run as its page sees them; comm.sync and run.fault decide what they send.
#include <span>

#include "config/config.h"
#include "core/seam.h"
#include "ring/ring_group.h"

namespace isobar {

namespace seams {

/// The values of rank 0, in place, on every rank.
inline constinit Seam<void(RingGroup&, std::span<double>)> broadcast{
    [](RingGroup& group, std::span<double> values) { group.broadcast(values); }};
/// The mean over the ranks, in place and the same bits on each.
inline constinit Seam<void(RingGroup&, std::span<double>)> average{
    [](RingGroup& group, std::span<double> values) { group.mean(values); }};

}  // namespace seams

class RunRanks {
 public:
  /// `group` outlives it.
  RunRanks(RingGroup& group, const CommConfig& config) : group_(group), config_(config) {}

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  /// The values of rank 0, in place, on every rank.
  void broadcast(std::span<double> values) {
    if (!has_fault(Fault::no_broadcast)) seams::broadcast(group_, values);
  }
  /// The mean over the ranks, in place and the same bits on each; with comm.sync = none nothing happens.
  void average(std::span<double> values) {
    if (config_.sync == SyncKind::none) return;
    has_fault(Fault::sum_not_mean) ? group_.sum(values) : seams::average(group_, values);
  }

 private:
  RingGroup& group_;
  CommConfig config_;
};

}  // namespace isobar
