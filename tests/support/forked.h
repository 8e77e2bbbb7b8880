#pragma once
// A copy of this process in place of a program: what is loaded need not be loaded again.
#include <sys/types.h>

#include <functional>

#include "launch/spawn.h"

namespace isobar::testing {

/// As `spawn`, but the process runs `body` and ends with what it returns. It has the files of `options` and
/// no others, the usual handlers of signals, and one thread: nothing may have been started here that it needs
/// (threads of OpenMP or autograd).
pid_t forked(const std::function<int()>& body, const SpawnOptions& options);

}  // namespace isobar::testing
