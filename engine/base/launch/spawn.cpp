#include "launch/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/argv.h"
#include "core/error.h"

extern char** environ;

namespace isobar {
namespace {

constexpr std::array<int, 4> kPassedOn = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The environment of this process under `ours`.
std::vector<char*> merged(std::vector<std::string>& ours) {
  std::vector<char*> out;
  for (std::string& entry : ours) out.push_back(entry.data());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool replaced = std::any_of(ours.begin(), ours.end(), [&](const std::string& other) {
      return std::strncmp(*entry, other.c_str(), other.find('=') + 1) == 0;
    });
    if (!replaced) out.push_back(*entry);
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&set_);
  for (const int number : kPassedOn) {
    if (number != SIGHUP || !is_ignored(number)) sigaddset(&set_, number);  // `nohup` keeps its promise
  }
  for (const int number : {SIGCHLD, SIGTSTP, SIGCONT}) sigaddset(&set_, number);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
  // A signal that is ignored, as a shell leaves SIGINT for what it starts in the background, is never held;
  // and where SIGCHLD is ignored, the end of the program goes unnoticed.
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) std::signal(number, SIG_DFL);
  file_ = FileDescriptor(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.is_open()) throw system_error("cannot hear signals", "signalfd", errno);
}

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int HeldSignals::next(int timeout_ms) const {
  pollfd waiting{.fd = file_.number(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, timeout_ms) <= 0) return 0;
  signalfd_siginfo info{};
  return read(file_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

pid_t spawn(const std::vector<std::string>& words, const SpawnOptions& options) {
  std::vector<std::string> copy = words;
  const std::vector<char*> argv = as_argv(copy);
  std::vector<std::string> ours = options.environment;
  ours.push_back("ISOBAR_LAUNCHER=" + std::to_string(getpid()));
  const std::vector<char*> environment = merged(ours);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.mask != nullptr) posix_spawnattr_setsigmask(&attributes, options.mask);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int with_mask = options.mask != nullptr ? POSIX_SPAWN_SETSIGMASK : 0;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETPGROUP | with_mask));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::array<int, 3> given = {options.input, options.output, options.errors};
  for (int place = 0; place < 3; ++place) {
    const int from = given[static_cast<std::size_t>(place)];
    if (from >= 0) posix_spawn_file_actions_adddup2(&files, from, place);
  }
  pid_t pid = 0;
  const int number = posix_spawn(&pid, argv.front(), &files, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (number == ENOENT) throw Error("a program is not built", words.front(), "./isobar setup", Exit::failed);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  return pid;
}

FileDescriptor unnamed_file() {
  FileDescriptor file(memfd_create("output", MFD_CLOEXEC));
  if (!file.is_open()) throw system_error("cannot make a file in memory", "memfd_create", errno);
  return file;
}

std::string end_of(const FileDescriptor& file, std::int64_t most_bytes) {
  const off_t size = lseek(file.number(), 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - most_bytes);
  std::string out(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = pread(file.number(), out.data(), out.size(), begin);
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return out;
}

}  // namespace isobar
