#include "support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

#include "core/argv.h"
#include "support/temp_folder.h"
#include "support/threads.h"

extern char** environ;

namespace isobar {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  std::vector<std::string> out = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || other.rfind(name, 0) == 0;
    if (!replaced) out.push_back(text);
  }
  return out;
}

using Clock = std::chrono::steady_clock;

/// Sends the signal `times` times, or until the process is gone.
void interrupt(pid_t pid, const ProcessOptions& options) {
  for (int n = 0; n < options.times; ++n) {
    if (n > 0) std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
    kill(pid, options.signal);
  }
}

void wait_with_deadline(pid_t pid, const ProcessOptions& options, ProcessResult& result) {
  const auto begin = Clock::now();
  std::optional<Clock::time_point> interrupted;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const auto passed = Clock::now() - begin;
    const bool late =
        options.interrupt_after_ms >= 0 && passed > std::chrono::milliseconds(options.interrupt_after_ms);
    if (!interrupted && (late || (options.interrupt_when && options.interrupt_when()))) {
      interrupted = Clock::now();
      interrupt(pid, options);
    }
    if (passed > std::chrono::seconds(options.deadline_s)) {
      result.err = "after " + std::to_string(options.deadline_s) + " s. Its threads:\n" + threads_of(pid);
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (interrupted)
    result.signal_to_exit_s = std::chrono::duration<double>(Clock::now() - *interrupted).count();
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  const TempFolder folder;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment = merged_environment(options.environment);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit limit{static_cast<rlim_t>(options.file_limit_bytes), old.rlim_max};
  if (options.file_limit_bytes >= 0) setrlimit(RLIMIT_FSIZE, &limit);  // the child inherits it
  pid_t pid = 0;
  const int error = posix_spawn(&pid, arguments.front().c_str(), &actions, nullptr, as_argv(arguments).data(),
                                as_argv(environment).data());
  setrlimit(RLIMIT_FSIZE, &old);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words.front());
  ProcessResult result;
  wait_with_deadline(pid, options, result);
  result.out = text_of(folder / "out");
  std::string hung;
  if (!result.err.empty()) {
    for (const std::string& word : words) hung += (hung.empty() ? "\nhangs: " : " ") + word;
    hung += "\n" + result.err;
  }
  result.err = text_of(folder / "err") + hung;
  return result;
}

}  // namespace isobar
