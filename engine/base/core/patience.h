#pragma once
// Time that a process could have waited: while it is stopped (Ctrl-Z) clocks run, and no rank is late.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/clock.h"

namespace isobar {

class Patience {
 public:
  /// Whoever asks does so every `most_us` or sooner, unless it cannot.
  explicit Patience(std::int64_t most_us) : most_us_(most_us) {}
  /// What passed since this was made or asked, at most `most_us`.
  std::int64_t pass() {
    const std::int64_t now_us = steady_us();
    return std::min(most_us_, now_us - std::exchange(last_us_, now_us));
  }

 private:
  std::int64_t most_us_;
  std::int64_t last_us_ = steady_us();
};

}  // namespace isobar
