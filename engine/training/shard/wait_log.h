#pragma once
// The collectives of a step in the order in which they were started, and what was waited for.
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "train/sync_waits.h"

namespace isobar {

/// A group does its collectives one behind the other, so one that is waited for has all before it done: these
/// land first, which costs nothing, and each is timed by the end of the one before it.
class WaitLog {
 public:
  enum class Phase : unsigned char { forward, backward, behind };

  /// A collective was started: `land` waits for it and uses what it brought. Its number, from 1.
  std::int64_t started(std::function<void()> land) {
    open_.push_back(std::move(land));
    return landed_ + static_cast<std::int64_t>(open_.size());
  }
  /// Returns when this one has landed.
  void land(std::int64_t number) {
    while (landed_ < number) {
      const std::function<void()> land = std::move(open_.front());
      open_.pop_front();
      ++landed_;
      land();
    }
  }

  /// Waits for `work`, and records when.
  void wait(Work& work) {
    const std::int64_t begin_us = steady_us();
    times.push_back(work.wait());
    const std::int64_t end_us = steady_us();
    stood.push_back({begin_us, end_us});
    if (phase == Phase::forward) forward_us += end_us - begin_us;
    if (phase == Phase::backward) backward_us += end_us - begin_us;
  }
  /// Figures begin anew.
  void begin(Phase first) {
    phase = first;
    times.clear();
    stood.clear();
    forward_us = backward_us = 0;
  }

  Phase phase = Phase::forward;
  std::vector<CollectiveTimes> times;
  std::vector<StoodStill> stood;
  std::int64_t forward_us = 0;
  std::int64_t backward_us = 0;

 private:
  std::deque<std::function<void()>> open_;
  std::int64_t landed_ = 0;
};

}  // namespace isobar
