#pragma once
// The ranks of one launch on one machine, for programs without torch: they meet beside the launcher's file
// and add up numbers around the ring.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ring/ring_engine.h"

namespace isobar {

/// Who meets whom: RankEnvironment has all of it.
struct RingMeeting {
  std::string file;  ///< every rank's the same, in a folder that its launcher removes; what is written there
                     ///< has names that begin with this one
  int rank = 0;
  int size = 1;
  std::int64_t timeout_us = 120'000'000;
};

class RingGroup {
 public:
  /// Alone where `size` is 1. Error (exit code 1) for a rank that does not come in time, and for memory that
  /// cannot be had: which, where, hint.
  explicit RingGroup(const RingMeeting& meeting);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// In place, and the same bits on every rank. All ranks call the same things in the same order. Error (exit
  /// code 1) where a rank has ended or does not come within the meeting's time.
  void sum(std::span<double> values) { all_reduce(values, /*divides=*/false); }
  /// The sum, divided by the number of ranks.
  void mean(std::span<double> values) { all_reduce(values, /*divides=*/true); }
  /// From `root`.
  void broadcast(std::span<double> values, int root = 0);

  /// Of the last of them: what this rank sent and when, step by step; nothing alone.
  const std::vector<CollectiveStep>& steps() const { return steps_; }

 private:
  void all_reduce(std::span<double> values, bool divides);
  void run(RingRequest request);

  int rank_;
  int size_;
  std::int64_t timeout_us_;
  std::unique_ptr<RingEngine> engine_;  ///< null alone
  std::vector<CollectiveStep> steps_;
};

}  // namespace isobar
