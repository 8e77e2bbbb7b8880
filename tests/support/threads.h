#pragma once
// Where threads stand, for the last words of a test that hangs.
#include <sys/types.h>

#include <string>

namespace isobar {

/// The calls of each other thread of this process, innermost first. One thread at a time. Threads that block
/// signals are named without calls.
std::string own_threads();

/// What each thread of another process waits in, as far as /proc tells: a line a thread, "" = it is gone.
std::string threads_of(pid_t pid);

/// Processes that this one started, and those that they started.
std::string children_text();
void kill_children();

}  // namespace isobar
