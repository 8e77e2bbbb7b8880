#include "launch/supervise.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/argv.h"
#include "core/error.h"
#include "core/files.h"
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

  /// The next signal; with `ticks` 0 after a quarter of a second without one.
  int next(bool ticks) const {
    siginfo_t info{};
    constexpr timespec kTick = {.tv_sec = 0, .tv_nsec = 250'000'000};
    return std::max(0, ticks ? sigtimedwait(&set_, &info, &kTick) : sigwaitinfo(&set_, &info));
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

constexpr std::int64_t kMostErrorBytes = 8'000;

/// A file without a name, for what a quiet program writes to standard error.
FileDescriptor unnamed_file() {
  FileDescriptor file(memfd_create("errors", MFD_CLOEXEC));
  if (!file.is_open()) throw system_error("cannot make a file in memory", "memfd_create", errno);
  return file;
}

std::string end_of(const FileDescriptor& file) {
  const off_t size = lseek(file.number(), 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - kMostErrorBytes);
  std::string out(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = pread(file.number(), out.data(), out.size(), begin);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return out;
}

/// `errors` is where standard error goes, with standard output to nowhere; closed: both as they are.
pid_t start(const std::vector<std::string>& words, const sigset_t& mask, const FileDescriptor& errors) {
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
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (errors.is_open()) {
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, errors.number(), STDERR_FILENO);
  }
  pid_t pid = 0;
  const int number = posix_spawn(&pid, argv.front(), &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (number == ENOENT) throw Error("a program is not built", words.front(), "./isobar setup", Exit::failed);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  return pid;
}

}  // namespace

Ended supervise(const std::vector<std::string>& words, const SuperviseOptions& options) {
  const std::uint64_t oom_kills = memory_state().oom_kills;
  const HeldSignals signals;
  const FileDescriptor errors = options.quiet ? unnamed_file() : FileDescriptor();
  const pid_t pid = start(words, signals.before(), errors);
  Ended out;
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, WNOHANG, &usage) == 0) {
    const int number = signals.next(options.tick != nullptr);
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
  if (errors.is_open()) out.errors = end_of(errors);
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
