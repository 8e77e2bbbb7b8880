#pragma once
// A program that this one runs and answers for.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace isobar {

struct Ended {
  int code = 0;                 ///< its exit code, 128 + signal for one that was killed
  int signal = 0;               ///< the signal that killed it, 0 = none
  std::int64_t peak_bytes = 0;  ///< most memory that it held at once
  bool out_of_memory = false;   ///< the system reports that memory ran out
  int asked = 0;                ///< the last signal to stop that came here and was passed on, 0 = none
  std::string errors;           ///< from a quiet one: the end of its standard error, at most 8 kB
};

struct SuperviseOptions {
  bool quiet = false;               ///< nothing that it prints reaches this terminal
  std::function<void()> tick = {};  ///< called a few times a second while it runs
};

/// Runs `words` with this terminal and waits. The program has a process group of its own: SIGINT, SIGTERM,
/// SIGUSR1 and SIGHUP that come here are passed on once each, and so are Ctrl-Z and its end. A SIGHUP that
/// was ignored before (nohup) stays so, for both. If this process
/// is killed, a program of ours is asked to stop (see `follow_launcher`). Error when it cannot be started.
Ended supervise(const std::vector<std::string>& words, const SuperviseOptions& options = {});

/// Called by a program of ours at its start: when the process that supervises it dies, it gets SIGTERM.
void follow_launcher();

}  // namespace isobar
