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

/// Sends the signal once it is time, and again every `pause_ms` until it was sent `times` times.
class Interrupts {
 public:
  Interrupts(pid_t pid, const ProcessOptions& options) : pid_(pid), options_(options) {}
  void look(Clock::time_point now) {
    if (sent_ == 0 && !(options_.interrupt_when && options_.interrupt_when())) return;
    if (sent_ == options_.times || (sent_ > 0 && now < next_)) return;
    kill(pid_, options_.signal);
    if (++sent_ == 1 && options_.interrupted) options_.interrupted();
    next_ = now + std::chrono::milliseconds(options_.pause_ms);
  }

 private:
  pid_t pid_;
  const ProcessOptions& options_;
  int sent_ = 0;
  Clock::time_point next_;
};

void wait_with_deadline(pid_t pid, const ProcessOptions& options, ProcessResult& result) {
  const auto begin = Clock::now();
  Interrupts interrupts(pid, options);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    interrupts.look(Clock::now());
    if (Clock::now() - begin > std::chrono::seconds(options.deadline_s)) {
      result.err = "after " + std::to_string(options.deadline_s) + " s. Its threads:\n" + threads_of(pid);
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  result.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::function<bool()> when_there(const std::string& file) {
  return [file] { return access(file.c_str(), F_OK) == 0; };
}

std::function<bool()> after_ms(int ms) {
  return [due = Clock::now() + std::chrono::milliseconds(ms)] { return Clock::now() >= due; };
}

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
