#pragma once
// Starting a program of ours and hearing the signals that are meant for it: what `supervise` and
// `launch_ranks` have in common.
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"

namespace isobar {

/// The interval at which a function that waits for a program calls its tick.
inline constexpr int kTick_ms = 250;

/// Takes signals out of a file instead of handlers, for as long as it lives: requests to stop (SIGINT,
/// SIGTERM, SIGUSR1, SIGHUP), the end of children, and Ctrl-Z with its end.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The next signal, 0 after `timeout_ms` without one; a negative time-out waits for ever.
  int next(int timeout_ms) const;
  /// Readable when a signal is there, for `poll`.
  int number() const { return file_.number(); }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{};
  sigset_t before_{};
  FileDescriptor file_;
};

struct SpawnOptions {
  const sigset_t* mask = nullptr;             ///< signals that the program finds blocked
  std::vector<std::string> environment = {};  ///< "NAME=value": added to, or in place of, what is here
  int input = -1;                             ///< descriptors that it gets as its own; -1 = those of here
  int output = -1;
  int errors = -1;
};

/// Starts `words` in a process group of its own, whose number is the one returned. Programs of ours follow
/// this process (`follow_launcher`). Error when it cannot be started.
pid_t spawn(const std::vector<std::string>& words, const SpawnOptions& options);

/// A file in memory, for the output of a quiet program.
FileDescriptor unnamed_file();

/// At most the last `most_bytes` of what was written to it.
std::string end_of(const FileDescriptor& file, std::int64_t most_bytes);

/// The most bytes kept of a program's output.
inline constexpr std::int64_t kMostKept_bytes = 8'000;

}  // namespace isobar
