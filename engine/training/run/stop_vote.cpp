#include "run/stop_vote.h"

#include <utility>

namespace isobar {

StopVote::StopVote(Comm& ranks, int (*requested)()) : ranks_(ranks), requested_(requested) {}

int StopVote::ask(bool now) {
  if (signal_ != 0) return signal_;
  const int own = requested_();
  if (ranks_.size() == 1) return signal_ = own;
  // What was asked for one call ago is known to all by now: each of them has called since.
  if (asked_) signal_ = static_cast<int>(asked_->value());
  asked_.reset();
  if (signal_ != 0) return signal_;
  Comm::PendingMax asked = ranks_.start_max(own, "stop");
  if (now)
    signal_ = static_cast<int>(asked.value());
  else
    asked_.emplace(std::move(asked));
  return signal_;
}

}  // namespace isobar
