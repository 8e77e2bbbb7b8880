#pragma once
// One rank that is asked to stop stops all of them, after the same step.
#include <optional>

#include "comm/comm.h"

namespace isobar {

class StopVote {
 public:
  /// `ranks` vote together and outlive this; `requested` gives the signal that asked this rank to stop, 0 =
  /// none did (running/signals.h).
  StopVote(Comm& ranks, int (*requested)());

  /// Votes; all ranks call it equally often. The signal that asked one of them, the same on all ranks, 0 =
  /// none did. What is asked for now is known one call later, so that no step waits for the answer; with
  /// `now` this call waits for it.
  int ask(bool now);

  /// What the last call gave.
  int signal() const { return signal_; }

 private:
  Comm& ranks_;
  int (*requested_)();
  int signal_ = 0;
  std::optional<Comm::PendingMax> asked_;
};

}  // namespace isobar
