#include "cli/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "analyse/run_reader.h"
#include "cli/check_command.h"
#include "config/command_line.h"
#include "config/config.h"
#include "config/lesson.h"
#include "config/resume.h"
#include "core/argv.h"
#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "launch/supervise.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostUnasked_bytes =
    1'500'000'000;                               // a larger data set is made only when it is asked for
constexpr std::uint64_t kEmbeddedRecords = 704;  // what make_fields makes by default

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

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

/// What is said of a program that the system ended: it could not say anything itself.
void tell_of_killed(const Ended& ended, const std::string& program) {
  if (ended.signal != SIGKILL && ended.signal != SIGSEGV && ended.signal != SIGBUS && ended.signal != SIGABRT)
    return;
  const std::string name = strsignal(ended.signal);
  const std::string memory = fmt::format("it held {} at its peak, this machine has {}",
                                         human_bytes(static_cast<std::uint64_t>(ended.peak_bytes)),
                                         human_bytes(memory_state().total_bytes));
  const bool killed = ended.signal == SIGKILL;
  const Error error(
      killed ? "the program was killed by the system" +
                   std::string(ended.out_of_memory ? " because memory ran out: "
                                                   : ", probably because memory ran out: ") +
                   memory
             : "the program crashed (" + name + ")",
      program,
      killed ? "a smaller train.global_batch or preset; train.resume goes on from the last checkpoint"
             : "what was recorded is in its run folder");
  std::fputs((error.text() + "\n").c_str(), stderr);
}

/// Runs a program of ours and returns its exit code (128 + signal).
int start_and_wait(const std::vector<std::string>& words) {
  std::fflush(stdout);
  const Ended ended = supervise(words);
  tell_of_killed(ended, words.front());
  return ended.code;
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

namespace {

/// "train.resume=last" and "train.resume=NAME" with the folder that is meant.
std::vector<std::string> with_found_run(std::vector<std::string> arguments) {
  const std::string key = "train.resume=";
  for (std::string& argument : arguments) {
    const std::size_t at = argument.rfind("--set=" + key, 0) == 0 ? 6 : 0;
    if (argument.compare(at, key.size(), key) != 0 || argument.size() == at + key.size()) continue;
    const std::string named = unquoted(argument.substr(at + key.size()));
    argument = argument.substr(0, at) + key + find_run(named, "runs").string();
  }
  return arguments;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const fs::path home = project_home();
  if (arguments.empty() || arguments.front().rfind('-', 0) == 0) {
    throw Error("which lesson?", "./isobar run LESSON", "lessons: " + join(lesson_names(home), ", "));
  }
  const LessonInfo lesson = read_lesson(home, arguments.front());
  const std::vector<std::string> rest = with_found_run({arguments.begin() + 1, arguments.end()});
  const RunArguments parsed = parse_run_arguments(rest, lesson, home);
  if (parsed.help) {
    std::fputs(parsed.help_text.c_str(), stdout);
    return 0;
  }
  const std::string resumed = resume_setting(parsed.settings);
  const Settings settings = resumed.empty() ? parsed.settings : resumed_settings(parsed.settings, resumed);
  const LoadedConfig loaded =
      load_config(home, lesson, settings, preset_device_kind(settings, likely_device_kind));
  const bool cannot_run = loaded.config.run.device.rfind("cuda", 0) == 0 && !has_nvidia_driver();
  if (!cannot_run) {  // else the program says why, and making data first would only take time
    if (const int code = ensure_data(loaded.config.data); code != 0) return code;
  }
  std::vector<std::string> words = {(program_folder() / lesson.name).string()};
  words.insert(words.end(), rest.begin(), rest.end());
  return start_and_wait(words);
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
