#pragma once
// One rank that is asked to stop stops all of them, after the same step.
#include <functional>

namespace isobar {

class StopVote {
 public:
  /// The largest of all ranks' numbers; what it returns waits for it. Null: this rank is alone.
  using StartMax = std::function<std::function<double()>(double own)>;

  /// `requested` gives the signal that asked this rank to stop, 0 = none did (running/signals.h).
  StopVote(StartMax start_max, int (*requested)());

  /// Votes; all ranks call it equally often. The signal that asked one of them, the same on all ranks, 0 =
  /// none did. What is asked for now is known one call later, so that no step waits for the answer; with
  /// `now` this call waits for it.
  int ask(bool now);

  /// What the last call gave.
  int signal() const { return signal_; }

 private:
  StartMax start_max_;
  int (*requested_)();
  int signal_ = 0;
  std::function<double()> asked_;  ///< null before the first call
};

}  // namespace isobar
