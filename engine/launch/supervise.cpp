#include "launch/supervise.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/argv.h"
#include "core/error.h"
#include "core/memory.h"

extern char** environ;

namespace isobar {
namespace {

constexpr const char* kLauncher = "ISOBAR_LAUNCHER";
constexpr std::array<int, 4> kPassedOn = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Takes signals out of `sigwaitinfo` instead of handlers, for as long as it lives.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (const int number : kPassedOn) {
      if (number != SIGHUP || !is_ignored(number)) sigaddset(&set_, number);  // `nohup` keeps its promise
    }
    for (const int number : {SIGCHLD, SIGTSTP, SIGCONT}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    // A signal that is ignored, as a shell leaves SIGINT for what it starts in the background, is never held;
    // and where SIGCHLD is ignored, nobody tells that the program ended, or how.
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) std::signal(number, SIG_DFL);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int next() const {
    siginfo_t info{};
    return sigwaitinfo(&set_, &info);
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

pid_t start(const std::vector<std::string>& words, const sigset_t& mask) {
  std::vector<std::string> copy = words;
  const std::vector<char*> argv = as_argv(copy);
  std::string launcher = std::string(kLauncher) + "=" + std::to_string(getpid());
  std::vector<char*> environment = {launcher.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, launcher.c_str(), std::strlen(kLauncher) + 1) != 0)
      environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int number = posix_spawn(&pid, argv.front(), nullptr, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  if (number == ENOENT) throw Error("a program is not built", words.front(), "./isobar setup", Exit::failed);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  return pid;
}

}  // namespace

Ended supervise(const std::vector<std::string>& words) {
  const std::uint64_t oom_kills = memory_state().oom_kills;
  const HeldSignals signals;
  const pid_t pid = start(words, signals.before());
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, WNOHANG, &usage) == 0) {
    const int number = signals.next();
    if (number == SIGTSTP) {
      kill(-pid, SIGSTOP);
      raise(SIGSTOP);
    } else if (number == SIGCONT) {
      kill(-pid, SIGCONT);
    } else if (number > 0 && number != SIGCHLD) {
      kill(-pid, number);
    }
  }
  Ended out;
  out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out.code = out.signal != 0 ? 128 + out.signal : WEXITSTATUS(status);
  out.peak_bytes = usage.ru_maxrss * 1024;
  out.out_of_memory = memory_state().oom_kills > oom_kills;
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
