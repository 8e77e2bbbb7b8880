#pragma once
// The ranks of one launch on one machine, for programs without torch: they meet beside the launcher's file
// and add up numbers around the ring.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "ring/call_board.h"
#include "ring/meeting.h"
#include "ring/ring_engine.h"

namespace isobar {

class RingGroup {
 public:
  /// Alone where `size` is 1. Error (exit code 1) for a rank that does not come in time, and for memory that
  /// cannot be had: which, where, hint.
  explicit RingGroup(const RingMeeting& meeting);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// In place, and the same bits on every rank. Error (exit code 1) where ranks call different things
  /// (which), where one has ended, and where one does not come within the meeting's time.
  void sum(std::span<double> values) { all_reduce(values, Reduced::sum); }
  /// The sum, divided by the number of ranks.
  void mean(std::span<double> values) { all_reduce(values, Reduced::mean); }
  void largest(std::span<double> values) { all_reduce(values, Reduced::largest); }
  /// From `root`.
  void broadcast(std::span<double> values, int root = 0);
  /// The text of rank 0, on every rank.
  std::string broadcast(std::string text);

  /// What this rank sent in the last collective and when, step by step; empty alone.
  const std::vector<CollectiveStep>& steps() const { return steps_; }

 private:
  enum class Reduced { sum, mean, largest };
  void all_reduce(std::span<double> values, Reduced reduced);
  void run(RingRequest request);
  void check_calls(std::int64_t number, const RingCall& own) const;
  Error late_error(const RingCall& own) const;

  int rank_;
  int size_;
  std::int64_t timeout_us_;
  bool* followed_;                      ///< RingMeeting::followed
  std::unique_ptr<RingEngine> engine_;  ///< null alone
  std::unique_ptr<CallBoard> calls_;    ///< null alone
  std::int64_t called_ = 0;
  std::vector<CollectiveStep> steps_;
};

}  // namespace isobar
