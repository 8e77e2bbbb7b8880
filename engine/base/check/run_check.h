#pragma once
// Runs a check in a process of its own, so that whatever the learner's code does ends with it: a hang, a
// crash, an exit, threads, other processes, files.
#include <optional>
#include <string>

#include "check/check.h"

namespace isobar {

struct CheckSetting {
  std::string source;  ///< end of the path of the learner's file, by which its lines are known
  double hang_s =
      10;  ///< from then on a check is ended if nothing of it moves, or it took so much processor time
};

/// Nothing when the check holds. What it writes to the terminal is dropped, and its working folder is an
/// empty one that goes with it. A check that waits for a processor on a busy machine is no hang.
std::optional<Finding> run_check(const Check& check, const CheckSetting& setting);

}  // namespace isobar
