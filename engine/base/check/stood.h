#pragma once
// How far a process of a check got, and where its threads stood when it was ended.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "check/check_setting.h"

namespace isobar {

std::vector<pid_t> children_of(pid_t parent);

/// How far a process got.
struct Motion {
  std::uint64_t switches = 0;  ///< how often its threads were given a processor, and gave it back
  double processor_s = 0;
  bool asleep = false;  ///< no thread of it runs, or wants to: each waits or was stopped
};
Motion motion_of(pid_t pid);

struct Stood {
  std::string text;    ///< "thread 1 waits for a condition variable at my/02_read_ahead.cpp:37; thread 2 ..."
  std::string places;  ///< in the learner's file, each once
  bool waits = false;  ///< one of them waits for another thread
};
/// Asks each thread of the check, and stops them all; `report` is where they answer.
Stood where_threads_stood(pid_t pid, int report, const CheckSetting& setting);

}  // namespace isobar
