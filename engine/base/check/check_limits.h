#pragma once
// How long, and with how much, the process of a check may run. Memory is watched and not limited by the
// system: sanitizers and libtorch map far more than they use.
#include <sys/types.h>

#include <chrono>

#include "check/check_setting.h"
#include "check/stood.h"

namespace isobar {

enum class Limit { none, time, memory, output };

/// Asked every few milliseconds. It distinguishes a check that hangs from one that is slow, or gets no
/// processor.
class CheckLimits {
 public:
  CheckLimits(pid_t pid, const CheckSetting& setting) : pid_(pid), setting_(setting) {}

  Limit reached();

 private:
  using Clock = std::chrono::steady_clock;

  bool hangs(Clock::time_point now);

  pid_t pid_;
  const CheckSetting& setting_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point looked_ = begin_;
  Clock::time_point still_since_ = begin_;
  double asleep_s_ = 0;
  Motion seen_;
};

}  // namespace isobar
