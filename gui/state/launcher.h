#pragma once
// Starts lessons as a terminal would, and stops them.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/child_process.h"

namespace isobar {

/// What follows "./isobar run", or another command.
struct RunRequest {
  std::string lesson;
  std::string preset = {};              ///< "" = the lesson's own choice
  std::vector<std::string> sets = {};   ///< "key=value"
  std::string resume = {};              ///< folder of the run to continue
  std::vector<std::string> words = {};  ///< another command with all that follows it: {"quartet", "NN_name"}
  /// The command: "run", "quiz", ...
  std::string command() const { return words.empty() ? "run" : words.front(); }
  bool operator==(const RunRequest&) const = default;

  std::vector<std::string> arguments() const;
};

/// "./isobar run NN_name --set optim.lr=0.002", to paste into a shell.
std::string command_text(const RunRequest& request);

class Launcher {
 public:
  /// `isobar` is the program to start, `folder` where it runs (runs/ is made there), `logs` where its output
  /// is kept.
  Launcher(std::filesystem::path isobar, std::filesystem::path folder, std::filesystem::path logs);

  /// Error when it cannot be started or another is still at work.
  void start(const RunRequest& request);
  /// SIGINT, as Ctrl-C in a terminal; a second one ends it at once.
  void stop();
  /// Looks after the program; true when it ended since the last call.
  bool poll();

  bool is_running() const { return child_ != nullptr; }
  const RunRequest& request() const { return request_; }
  /// Process of the run that is starting or running; 0 without one.
  int pid() const { return child_ ? child_->pid() : 0; }
  /// The process that was started last, running or not; 0 before the first.
  int last_pid() const { return last_pid_; }
  const std::filesystem::path& log() const { return log_; }
  /// Exit code of the last program that ended.
  std::optional<int> last_code() const { return last_code_; }

 private:
  std::filesystem::path isobar_, folder_, logs_, log_;
  std::unique_ptr<ChildProcess> child_;
  RunRequest request_;
  std::optional<int> last_code_;
  int last_pid_ = 0;
};

}  // namespace isobar
