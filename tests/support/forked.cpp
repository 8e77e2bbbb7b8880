#include "support/forked.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/error.h"

namespace isobar::testing {
namespace {

/// What a new program would not inherit either.
void forget_handlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      std::signal(number, SIG_DFL);
  }
}

void become(const SpawnOptions& options, pid_t launcher) {
  setpgid(0, 0);
  forget_handlers();
  for (const std::string& entry : options.environment) {
    const std::size_t end = entry.find('=');
    setenv(entry.substr(0, end).c_str(), entry.c_str() + end + 1, 1);
  }
  setenv("ISOBAR_LAUNCHER", std::to_string(launcher).c_str(), 1);
  const std::array<int, 3> given = {options.input, options.output, options.errors};
  for (int place = 0; place < 3; ++place) {
    if (given[static_cast<std::size_t>(place)] >= 0) dup2(given[static_cast<std::size_t>(place)], place);
  }
  close_range(3, ~0U, 0);
  if (options.mask != nullptr) pthread_sigmask(SIG_SETMASK, options.mask, nullptr);
}

}  // namespace

pid_t forked(const std::function<int()>& body, const SpawnOptions& options) {
  std::cout.flush();  // or it would be said twice
  std::fflush(nullptr);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw system_error("cannot start a process", "fork", errno);
  if (pid > 0) {
    setpgid(pid, pid);
    return pid;
  }
  become(options, launcher);
  const int code = body();
  std::cout.flush();
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace isobar::testing
