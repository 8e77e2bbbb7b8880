#pragma once
// The one exception type of Isobar, and the exit codes that scripts and Slurm may rely on.
#include <functional>
#include <stdexcept>
#include <string>

namespace isobar {

/// Exit codes of every program of ours.
enum class Exit : int {
  done = 0,
  failed = 1,        ///< something broke while running: disk full, a device that stopped
  bad_input = 2,     ///< configuration, command line or a file that cannot be used
  checkpointed = 75  ///< stopped on request with a complete checkpoint
};

/// An error a person can act on: what happened, where (file, key, file:line), and what to do about it.
/// `main` alone turns it into text and an exit code.
class Error : public std::runtime_error {
 public:
  Error(std::string what, std::string where, std::string hint, Exit code = Exit::bad_input);

  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }
  Exit code() const { return code_; }

  /// At most three lines: "error: what", "  where: ...", "  hint: ..." (empty parts are left out).
  std::string text() const;

 private:
  std::string where_;
  std::string hint_;
  Exit code_;
};

/// The error of a system call that failed with `error_number`: exit code 1 unless the file simply is not
/// there.
Error system_error(const std::string& what, const std::string& where, int error_number);

/// Runs `body` and turns what it throws into a message on stderr and an exit code. Standard output that could
/// not be written is an Error of its own (exit code 1), unless who reads it has left.
int guarded_main(const std::string& program, const std::function<int()>& body);

}  // namespace isobar
