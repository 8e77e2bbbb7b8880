#include "running/stop_vote.h"

#include <utility>

namespace isobar {

StopVote::StopVote(StartMax start_max, int (*requested)())
    : start_max_(std::move(start_max)), requested_(requested) {}

int StopVote::ask(bool now) {
  if (signal_ != 0) return signal_;
  const int own = requested_();
  if (!start_max_) return signal_ = own;
  // What was asked for one call ago is known to all by now: each of them has called since.
  if (asked_) signal_ = static_cast<int>(asked_());
  asked_ = nullptr;
  if (signal_ != 0) return signal_;
  asked_ = start_max_(own);
  if (now) signal_ = static_cast<int>(std::exchange(asked_, nullptr)());
  return signal_;
}

}  // namespace isobar
