#pragma once
// Programs that are started beside this one and outlive it if need be.
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

/// A program started from an argument list (never through a shell), in a session of its own: it reads
/// nothing, and its output is appended to a file, so that it continues unharmed when this process ends.
class ChildProcess {
 public:
  /// Error when the program cannot be started or `output` cannot be opened.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& folder,
               const std::filesystem::path& output);
  ~ChildProcess() = default;  ///< leaves the program alone
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// Its exit code, 128 + signal for one that was killed, or nothing while it runs. Does not wait.
  std::optional<int> exit_code();

  /// Sends `signal` to the program and what it started.
  void send(int signal);

 private:
  pid_t pid_ = 0;
  std::optional<int> code_;
};

/// Stops the process `pid` of this machine with SIGINT if it is the one that writes `file`: a number found in
/// a file is believed only when that process holds the file open. False when it does not.
bool interrupt_writer(pid_t pid, const std::filesystem::path& file);

}  // namespace isobar
