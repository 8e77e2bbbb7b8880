#pragma once
// A program at a terminal, with a person who types when it asks.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "core/argv.h"
#include "support/catch.h"

namespace isobar {

class Terminal {
 public:
  /// `environment`: "NAME=value", besides that of this process.
  Terminal(std::vector<std::string> words, const std::string& folder,
           const std::vector<std::string>& environment) {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE((master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0));
    const std::string name = ptsname(master_);
    std::vector<char*> argv = as_argv(words);
    std::vector<std::string> added = environment;
    process_ = fork();
    if (process_ != 0) return;
    setsid();
    const int slave = open(name.c_str(), O_RDWR);
    for (const int number : {0, 1, 2}) dup2(slave, number);
    const winsize size{50, 100, 0, 0};
    ioctl(0, TIOCSWINSZ, &size);
    for (std::string& word : added) putenv(word.data());
    if (chdir(folder.c_str()) == 0) execv(argv.front(), argv.data());
    _exit(127);
  }
  ~Terminal() {
    if (process_ > 0) kill(process_, SIGKILL), waitpid(process_, nullptr, 0);
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Reads until what it says ends with the prompt; what it said since the last time.
  std::string until(const std::string& prompt) {
    std::string out;
    while (out.size() < prompt.size() ||
           out.compare(out.size() - prompt.size(), prompt.size(), prompt) != 0) {
      if (!read_more(out)) FAIL("it ended before it asked \"" << prompt << "\": " << out);
    }
    return out;
  }
  /// The same, then types a line.
  std::string answer(const std::string& prompt, const std::string& typed) {
    const std::string out = until(prompt);
    const std::string line = typed + "\n";
    REQUIRE(write(master_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    return out;
  }
  void press_ctrl_c() { REQUIRE(write(master_, "\x03", 1) == 1); }
  /// What it still says, and its exit code, or 128 + the signal that ended it.
  int end(std::string& out) {
    while (read_more(out)) {
    }
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  bool read_more(std::string& out) const {
    char buffer[4096];
    const ssize_t got = read(master_, buffer, sizeof buffer);
    if (got <= 0) return false;
    out.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int master_ = -1;
  pid_t process_ = -1;
};

}  // namespace isobar
