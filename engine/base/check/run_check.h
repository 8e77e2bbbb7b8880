#pragma once
// Runs a check in a process of its own, so that whatever the learner's code does ends with it: a hang, a
// crash, an exit, threads, other processes, files.
#include <optional>

#include "check/check.h"
#include "check/check_setting.h"

namespace isobar {

/// Nothing when the check holds. What it writes to the terminal is dropped, and its working folder is an
/// empty one that goes with it. A check that waits for a processor on a busy machine is no hang.
/// `shown`: takes what it showed, where it holds. std::runtime_error where this machine cannot run it.
std::optional<Finding> run_check(const Check& check, const CheckSetting& setting,
                                 std::string* shown = nullptr);

}  // namespace isobar
