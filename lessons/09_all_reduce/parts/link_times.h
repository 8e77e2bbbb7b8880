#pragma once
// When messages would leave and arrive on a link by the alpha-beta model, as one rank sees it. Times are
// microseconds of the steady clock. Torch-free.
#include <cstdint>
#include <vector>

#include "formula/link.h"

namespace isobar {

/// How messages are under way. A message of s bytes leaves its rank when those before it have left (s / B
/// each), and arrives `latency_us` behind its end; what arrives at one rank at the same time queues there
/// likewise.
struct MessageLink {
  Link link = {};
  double slower = 1;  ///< this rank's messages take so many times as long (run.fault = slow_link)
};

class LinkTimes {
 public:
  /// Error (exit code 2) for times below zero, and for numbers that are none.
  explicit LinkTimes(const MessageLink& link);

  /// When the end of a message that this rank sends now is at the other rank.
  double leave(std::int64_t bytes, std::int64_t now_us);
  /// When one whose end came at `arrival_us` has found its turn on this rank's link: the first time that no
  /// other has taken, in whichever order they are asked for.
  double land(std::int64_t bytes, double arrival_us);

 private:
  struct Taken {
    double begin_us, end_us;
  };
  double length_us(std::int64_t bytes) const;

  MessageLink link_;
  double free_us_ = 0;        ///< when all that this rank sent has left
  std::vector<Taken> taken_;  ///< intervals in which the way in is taken, by time
};

}  // namespace isobar
