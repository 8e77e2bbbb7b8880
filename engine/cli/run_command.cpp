#include "cli/run_command.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cli/check_command.h"
#include "config/command_line.h"
#include "config/config.h"
#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"

extern char** environ;

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostUnasked_bytes =
    1'500'000'000;                               // a larger data set is made only when it is asked for
constexpr std::uint64_t kEmbeddedRecords = 704;  // what make_fields makes by default

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(std::vector<std::string> words) {
  const std::vector<char*> argv = as_argv(words);
  std::fflush(stdout);
  execv(words.front().c_str(), argv.data());
  const int number = errno;
  const std::string name = fs::path(words.front()).filename().string();
  if (number == ENOENT) {
    throw Error("the program of " + name + " is not built", words.front(), "./isobar setup", Exit::failed);
  }
  throw system_error("cannot start the program", words.front(), number);
}

/// Starts a program, waits for it, and returns its exit code (128 + signal).
int start_and_wait(std::vector<std::string> words) {
  const std::vector<char*> argv = as_argv(words);
  std::fflush(stdout);
  pid_t pid = 0;
  const int number = posix_spawn(&pid, words.front().c_str(), nullptr, nullptr, argv.data(), environ);
  if (number == ENOENT) throw Error("a program is not built", words.front(), "./isobar setup", Exit::failed);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Makes the embedded data set of this grid, or says how.
int ensure_data(const DataConfig& data) {
  if (!data.root.empty() || fs::exists(data_root(data) / "dataset.toml")) return 0;
  const std::string grid = fmt::format("{}x{}", data.grid[0], data.grid[1]);
  const auto record_bytes = static_cast<std::uint64_t>(data.grid[0] * data.grid[1]) * 80;
  if (record_bytes * kEmbeddedRecords > kMostUnasked_bytes) {
    const std::int64_t samples = data.limit_train > 0 ? data.limit_train : 128;
    throw Error(
        fmt::format("there is no data for the grid {}, and an embedded set of it is large: {} a record", grid,
                    human_bytes(record_bytes)),
        "data.root is empty",
        fmt::format(
            "--set data.root=FOLDER with ERA5, or make synthetic data of {} by: ./isobar data make --grid {} "
            "--samples {}",
            human_bytes(record_bytes * static_cast<std::uint64_t>(samples) * 11 / 8), grid, samples));
  }
  std::printf("the embedded data set of this grid is made once:\n");
  return start_and_wait({(program_folder() / "make_fields").string(), "--grid", grid});
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const fs::path home = project_home();
  if (arguments.empty() || arguments.front().rfind('-', 0) == 0) {
    throw Error("which lesson?", "./isobar run LESSON", "lessons: " + join(lesson_names(home), ", "));
  }
  const LessonInfo lesson = read_lesson(home, arguments.front());
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const RunArguments parsed = parse_run_arguments(rest, lesson, home);
  if (parsed.help) {
    std::fputs(parsed.help_text.c_str(), stdout);
    return 0;
  }
  const LoadedConfig loaded =
      load_config(home, lesson, parsed.settings, preset_device_kind(parsed.settings, likely_device_kind));
  const bool cannot_run = loaded.config.run.device.rfind("cuda", 0) == 0 && !has_nvidia_driver();
  if (!cannot_run) {  // else the program says why, and making data first would only take time
    if (const int code = ensure_data(loaded.config.data); code != 0) return code;
  }
  std::vector<std::string> words = {(program_folder() / lesson.name).string()};
  words.insert(words.end(), rest.begin(), rest.end());
  become(words);
}

int data_command(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "check")
    return check_data({arguments.begin() + 1, arguments.end()});
  if (arguments.empty() || arguments.front() != "make") {
    throw Error(
        arguments.empty() ? "what about the data?" : "unknown: data " + printable(arguments.front(), 40),
        "./isobar data",
        "./isobar data make [--grid 72x144] [--samples 512] [--out FOLDER], or ./isobar data check FOLDER");
  }
  std::vector<std::string> words = {(program_folder() / "make_fields").string()};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  become(words);
}

int ladder_command() {
  const fs::path home = project_home();
  for (const std::string& name : lesson_names(home)) {
    const bool built = fs::exists(program_folder() / name);
    std::printf("%-20s %s%s\n", name.c_str(), read_lesson(home, name).title.c_str(),
                built ? "" : "  (not built yet)");
  }
  return 0;
}

}  // namespace isobar
