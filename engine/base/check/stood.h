#pragma once
// A check that hangs: how that is told from one that waits for a processor, and where its threads stood.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

std::vector<pid_t> children_of(pid_t parent);

/// How far a process got.
struct Motion {
  std::uint64_t switches = 0;  ///< how often its threads were given a processor, and gave it back
  double processor_s = 0;
  bool asleep = false;  ///< no thread of it runs, or wants to
};
Motion motion_of(pid_t pid);

struct Stood {
  std::string text;    ///< "thread 1 waits for a condition variable at my/02_read_ahead.cpp:37; thread 2 ..."
  std::string places;  ///< in the learner's file, each once
};
/// Asks each thread of the check; `report` is where they answer.
Stood where_threads_stood(pid_t pid, int report, const std::string& source);

}  // namespace isobar
