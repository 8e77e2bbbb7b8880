#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "config/command_line.h"
#include "config/resume.h"
#include "config/samples.h"
#include "core/argv.h"
#include "core/nvidia.h"
#include "formula/memory_front.h"
#include "launch/rank_environment.h"
#include "record/run_tree.h"
#include "start/commands.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// What a lesson's program gets: the words that were typed, with the folder of the run to continue.
std::vector<std::string> program_words(const std::vector<std::string>& typed, const std::string& resumed) {
  if (resumed.empty()) return typed;
  std::vector<std::string> out;
  const auto is_key = [](std::string_view word) { return word.starts_with("train.resume="); };
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const std::string_view word = typed[i];
    const bool of_two =
        word == "--resume" || (word == "--set" && i + 1 < typed.size() && is_key(typed[i + 1]));
    const bool of_one =
        word.starts_with("--resume=") || (word.starts_with("--set=") && is_key(word.substr(6)));
    if (of_two) ++i;
    if (!of_two && !of_one) out.push_back(typed[i]);
  }
  out.insert(out.end(), {"--resume", resumed});
  return out;
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

int run_command(const Words& words, ShowInstead show_instead, const std::string& program_prefix) {
  const fs::path home = project_home();
  const bool asks_help = !words.empty() && (words.front() == "--help" || words.front() == "-h");
  if (!asks_help && (words.empty() || words.front().rfind('-', 0) == 0)) {
    throw Error("which lesson?", "./isobar run LESSON", "lessons: " + joined(lesson_names(home)));
  }
  LessonInfo lesson;
  if (asks_help) {
    lesson.name = "LESSON";
    lesson.title = "Train a lesson";
  } else {
    lesson = find_lesson(home, words.front());
  }
  const Words typed(words.begin() + (asks_help ? 0 : 1), words.end());
  RunArguments parsed = parse_run_arguments(typed, lesson, home);
  if (parsed.help) {
    std::fputs(parsed.help_text.c_str(), stdout);
    return 0;
  }
  std::string& resumed = parsed.settings.resume;
  if (!resumed.empty()) resumed = find_run(resumed, "runs").string();
  if (parsed.resumes_by_key) std::fprintf(stderr, "note: %s\n", kResumeKeyNote);
  Settings settings = resumed.empty() ? parsed.settings : resumed_settings(parsed.settings, resumed);
  const RankEnvironment environment = read_rank_environment();
  const bool is_alone = environment.world == 1 && parsed.ranks > 1;  // and starts ranks of its own
  const bool is_rank = environment.launched_by != LaunchedBy::nobody && !is_alone;
  if (is_rank) check_takes_ranks(environment, lesson.name, honours(lesson, "run.ranks"));
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
  if (!lesson.stands_alone)
    check_memory_cap(lesson, loaded.config,
                     memory_facts(loaded.config, on_cuda));  // before data is made for it
  if (!cannot_run) {  // else the program reports why, and making data first would only take time
    if (const int code = ensure_data(lesson, loaded); code != 0) return code;
  }
  Words program = {(program_folder() / (program_prefix + lesson.name)).string()};
  for (const std::string& word : program_words(typed, resumed)) program.push_back(word);
  if (is_rank || loaded.config.run.ranks == 1) return start_and_wait(program);
  return start_ranks_and_wait(program, static_cast<int>(loaded.config.run.ranks));
}

int data_command(const Words& words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "check") return check_data({words.begin() + 1, words.end()});
  if (what == "make") {
    Words program = {(program_folder() / "make_fields").string()};
    program.insert(program.end(), words.begin() + 1, words.end());
    become(program);
  }
  std::string other;
  OptionParser app("Synthetic weather of any size, and a look at any data set; each has its own --help",
                   "./isobar data");
  app.add("make|check", other, "");
  if (!app.parse(words)) return 0;
  throw Error(
      other.empty() ? "what about the data?" : "unknown: data " + printable(other, 40), "./isobar data",
      "./isobar data make [--grid 72x144] [--samples 512] [--out FOLDER], or ./isobar data check FOLDER");
}

}  // namespace isobar
