#include "launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>

#include "core/argv.h"
#include "core/error.h"

extern char** environ;

namespace isobar {

namespace fs = std::filesystem;

ChildProcess::ChildProcess(const std::vector<std::string>& words, const fs::path& folder,
                           const fs::path& output) {
  std::vector<std::string> copy = words;
  const std::vector<char*> argv = as_argv(copy);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);  // libraries open what is not closed by itself
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int number = posix_spawn(&pid_, argv.front(), &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
}

std::optional<int> ChildProcess::exit_code() {
  if (code_) return code_;
  int status = 0;
  const pid_t answer = waitpid(pid_, &status, WNOHANG);
  if (answer == pid_) code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (answer < 0 && errno == ECHILD) code_ = 1;
  return code_;
}

void ChildProcess::send(int signal) {
  if (!exit_code()) kill(-pid_, signal);
}

bool interrupt_writer(pid_t pid, const fs::path& file) {
  struct stat wanted {};
  if (pid <= 1 || stat(file.c_str(), &wanted) != 0) return false;
  std::error_code code;
  const fs::path open_files = fs::path("/proc") / std::to_string(pid) / "fd";
  for (const fs::directory_entry& entry : fs::directory_iterator(open_files, code)) {
    struct stat found {};
    if (stat(entry.path().c_str(), &found) != 0) continue;
    if (found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return kill(pid, SIGINT) == 0;
  }
  return false;
}

}  // namespace isobar
