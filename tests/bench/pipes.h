#pragma once
// Programs at the other end of a pipe, with deadlines.
#include <spawn.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"

namespace isobar {

/// The end to read from and the end to write to; no program started later inherits them.
std::pair<FileDescriptor, FileDescriptor> make_pipe();

/// Starts `words` (found in PATH) with `environment` ("NAME=value") beside ours and descriptors as `files`
/// says, which it destroys. Error when it cannot be started.
pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment,
                    posix_spawn_file_actions_t& files);

/// Waits until a program that was started has ended, kills it after `deadline_s`. Its exit code, 128 +
/// signal.
int wait_for_end(pid_t pid, int deadline_s);

/// Lines that arrive at one end.
class LineReader {
 public:
  explicit LineReader(FileDescriptor file) : file_(std::move(file)) {}

  /// The next line without its end; nothing when the other side closed or `due_us` (steady clock) passed.
  std::optional<std::string> next(std::int64_t due_us);

 private:
  FileDescriptor file_;
  std::string heard_;  ///< what came after the last whole line
};

/// The last line of a log, for messages; of an error with indented lines its first, which says what it is.
std::string last_words(const std::filesystem::path& log);

}  // namespace isobar
