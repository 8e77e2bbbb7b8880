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
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "core/argv.h"
#include "core/waiting.h"
#include "support/loaded_program.h"
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

using Steady = std::chrono::steady_clock;

/// Sends the signal once it is time, and again every `pause_ms` until it was sent `times` times.
class Interrupts {
 public:
  Interrupts(pid_t pid, const ProcessOptions& options) : pid_(pid), options_(options) {}
  void look(Steady::time_point now) {
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
  Steady::time_point next_;
};

/// Its status, once it has ended.
using Ended = std::function<std::optional<int>()>;

void wait_with_deadline(pid_t pid, const Ended& ended, const ProcessOptions& options, ProcessResult& result) {
  const auto begin = Steady::now();
  Interrupts interrupts(pid, options);
  bool hangs = false;
  while (true) {
    if (const std::optional<int> status = ended()) {
      if (!hangs) result.code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
      return;
    }
    interrupts.look(Steady::now());
    if (!hangs && Steady::now() - begin > std::chrono::seconds(options.deadline_s)) {
      hangs = true;
      result.err = "after " + std::to_string(options.deadline_s) + " s. Its threads:\n" + threads_of(pid);
      kill(pid, SIGKILL);
    }
    pause_us(2000);
  }
}

/// Starts a program anew, and waits for it.
void run_anew(std::vector<std::string> words, std::vector<std::string> environment, const TempFolder& folder,
              const ProcessOptions& options, ProcessResult& result) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit limit{static_cast<rlim_t>(options.file_limit_bytes), old.rlim_max};
  if (options.file_limit_bytes >= 0) setrlimit(RLIMIT_FSIZE, &limit);  // the child inherits it
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words.front().c_str(), &actions, nullptr, as_argv(words).data(),
                                as_argv(environment).data());
  setrlimit(RLIMIT_FSIZE, &old);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + words.front());
  const Ended ended = [pid]() -> std::optional<int> {
    int status = 0;
    return waitpid(pid, &status, WNOHANG) == 0 ? std::nullopt : std::optional(status);
  };
  wait_with_deadline(pid, ended, options, result);
}

/// What is loaded with the program, with colons between; nothing where libraries may ask for more of the
/// environment while they are loaded.
std::optional<std::string> preloads(const ProcessOptions& options) {
  std::string out = options.preloaded;
  for (const std::string& entry : options.environment) {
    constexpr std::string_view kPreload = "LD_PRELOAD=";
    if (entry.starts_with(kPreload) && options.started.empty())
      out += ":" + entry.substr(kPreload.size());
    else if (!entry.starts_with("SHIM_"))
      return std::nullopt;
  }
  return out;
}

/// Starts one that is loaded. False where it runs already, or where this run is to be loaded otherwise.
bool run_loaded(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                const TempFolder& folder, const ProcessOptions& options, ProcessResult& result) {
  struct Program {
    explicit Program(const std::string& path, const std::string& preloaded) : loaded(path, preloaded) {}
    LoadedProgram loaded;
    std::mutex runs;
  };
  static std::mutex mutex;
  static std::map<std::string, Program> programs;
  const std::optional<std::string> with = preloads(options);
  if (options.preloaded.empty() || !with || options.file_limit_bytes >= 0) return false;
  const std::string& path = options.started.empty() ? words.front() : options.started;
  std::unique_lock lock(mutex);
  Program& program = programs.try_emplace(path + " " + *with, path, *with).first->second;
  lock.unlock();
  const std::unique_lock runs(program.runs, std::try_to_lock);
  if (!runs) return false;
  const pid_t pid = program.loaded.start(
      words, environment, options.folder.empty() ? std::filesystem::current_path().string() : options.folder,
      folder / "out", folder / "err");
  wait_with_deadline(
      pid, [&] { return program.loaded.ended(); }, options, result);
  return true;
}

}  // namespace

std::function<bool()> when_there(const std::string& file) {
  return [file] { return access(file.c_str(), F_OK) == 0; };
}

std::function<bool()> after_ms(int ms) {
  return [due = Steady::now() + std::chrono::milliseconds(ms)] { return Steady::now() >= due; };
}

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  const TempFolder folder;
  const std::vector<std::string> environment = merged_environment(options.environment);
  ProcessResult result;
  if (!run_loaded(words, environment, folder, options, result))
    run_anew(words, environment, folder, options, result);
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
