#include "launch/supervise.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "core/files.h"
#include "core/memory.h"
#include "launch/spawn.h"

namespace isobar {
namespace {

constexpr const char* kLauncher = "ISOBAR_LAUNCHER";
}  // namespace

Ended supervise(const std::vector<std::string>& words, const SuperviseOptions& options) {
  const std::uint64_t oom_kills = memory_state().oom_kills;
  const HeldSignals signals;
  const FileDescriptor errors = options.quiet ? unnamed_file() : FileDescriptor();
  const FileDescriptor nowhere(options.quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1);
  const pid_t pid =
      spawn(words, {.mask = &signals.before(), .output = nowhere.number(), .errors = errors.number()});
  Ended out;
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, WNOHANG, &usage) == 0) {
    const int number = signals.next(options.tick ? kTick_ms : -1);
    if (number == 0 && options.tick) options.tick();
    if (number == SIGTSTP) {
      kill(-pid, SIGSTOP);
      raise(SIGSTOP);
    } else if (number == SIGCONT) {
      kill(-pid, SIGCONT);
    } else if (number > 0 && number != SIGCHLD) {
      kill(-pid, number);
      out.asked = number;
    }
  }
  out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out.code = out.signal != 0 ? 128 + out.signal : WEXITSTATUS(status);
  out.peak_bytes = usage.ru_maxrss * 1024;
  out.out_of_memory = memory_state().oom_kills > oom_kills;
  if (errors.is_open()) out.errors = end_of(errors, kMostKept_bytes);
  return out;
}

void follow_launcher() {
  const char* const launcher = std::getenv(kLauncher);
  if (launcher == nullptr || std::to_string(getppid()) != launcher) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) != launcher) raise(SIGTERM);  // it died in between
  unsetenv(kLauncher);
}

}  // namespace isobar
