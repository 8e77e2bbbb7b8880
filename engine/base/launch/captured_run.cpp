#include "launch/captured_run.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "core/clock.h"
#include "core/text.h"
#include "launch/spawn.h"

namespace isobar {

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    const std::string file = folder + "/" + name;  // nothing is taken from this folder: it is anybody's
    if (!folder.empty() && folder[0] == '/' && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

CapturedRun run_quietly(const std::vector<std::string>& words, std::int64_t longest_us,
                        std::int64_t most_bytes) {
  const HeldSignals signals;
  const FileDescriptor output = unnamed_file();
  const FileDescriptor errors = unnamed_file();
  const pid_t pid =
      spawn(words, {.mask = &signals.before(), .output = output.number(), .errors = errors.number()});
  CapturedRun said;
  int status = 0;
  for (const std::int64_t begin_us = steady_us(); waitpid(pid, &status, WNOHANG) == 0;) {
    if (const int number = signals.next(250); number == SIGINT || number == SIGTERM) said.asked = number;
    said.was_late = steady_us() - begin_us >= longest_us;
    if (said.asked == 0 && !said.was_late) continue;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    break;
  }
  said.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  said.out = end_of(output, most_bytes);
  said.errors = end_of(errors, most_bytes);
  return said;
}

}  // namespace isobar
