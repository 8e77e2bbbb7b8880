#include "cli/run_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "cli/check_command.h"
#include "cli/start.h"
#include "config/command_line.h"
#include "config/lesson.h"
#include "config/resume.h"
#include "config/samples.h"
#include "core/argv.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "formula/memory_plan.h"
#include "launch/rank_environment.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

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

/// Where somebody else started the ranks already, their number is known.
std::string checked_ranks(const RunArguments& parsed, const RankEnvironment& environment) {
  if (parsed.ranks != 0 && parsed.ranks != environment.world) {
    throw Error("--ranks " + std::to_string(parsed.ranks) + " is asked for, and this is one of " +
                    std::to_string(environment.world) + " processes that were started already",
                "environment", "leave out --ranks, or start one process");
  }
  return "run.ranks=" + std::to_string(environment.world);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, ShowInstead show_instead) {
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
  Settings settings = resumed.empty() ? parsed.settings : resumed_settings(parsed.settings, resumed);
  const RankEnvironment environment = read_rank_environment();
  const bool is_rank = environment.launched_by != LaunchedBy::nobody;
  if (is_rank) settings.sets.push_back(checked_ranks(parsed, environment));
  const bool lacking = lacks_device(lesson);
  const LoadedConfig loaded =
      load_config(home, lesson, settings,
                  preset_device_kind(settings, [&] { return lacking ? "cuda" : likely_device_kind(); }));
  if (lacking) return show_instead(lesson);
  const bool cannot_run = loaded.config.run.device.rfind("cuda", 0) == 0 && !has_nvidia_driver();
  const bool on_cuda = loaded.config.run.device == "auto" ? likely_device_kind() == "cuda"
                                                          : loaded.config.run.device.starts_with("cuda");
  check_enough_samples(loaded);
  check_memory_cap(lesson, loaded.config,
                   memory_facts(loaded.config, on_cuda));  // before data is made for it
  if (!cannot_run) {  // else the program says why, and making data first would only take time
    if (const int code = ensure_data(loaded); code != 0) return code;
  }
  std::vector<std::string> words = {(program_folder() / lesson.name).string()};
  words.insert(words.end(), rest.begin(), rest.end());
  if (is_rank || loaded.config.run.ranks == 1) return start_and_wait(words);
  return start_ranks_and_wait(words, static_cast<int>(loaded.config.run.ranks));
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

}  // namespace isobar
