#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "analyse/run_files.h"
#include "cli/commands.h"
#include "cli/ladder_text.h"
#include "cli/lesson_options.h"
#include "cli/start.h"
#include "config/command_line.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

struct LadderArguments {
  MeasureArguments measure;  ///< without a lesson
  std::vector<std::string> lessons;
  std::int64_t steps = 0;  ///< 0 = as many as the preset says
  bool list = false;
};

std::string hint_for_word(const std::string& word) {
  if (!lessons_like(lesson_names(project_home()), word).empty())
    return "some lessons only: --lessons " + word + ",...";
  return word == "--trials" ? "here it is --repeats" : hint_for_setting(word);
}

std::optional<LadderArguments> parse_ladder(const Words& words) {
  LadderArguments out;
  MeasureArguments& measure = out.measure;
  std::string lessons;
  OptionParser app(
      "Trains every lesson that this machine can run, in turn: how fast, what bounds each, and whether "
      "they train alike",
      "./isobar ladder");
  app.add("--repeats", measure.repeats, "how often each is trained, in turn; default 3");
  add_settings(app, measure.settings, project_home());
  const OptionParser::Option steps =
      app.add("--steps", out.steps, "training steps of each run; default: the preset's");
  app.add("--lessons", lessons, "only these, a,b,c; the first is what the others are compared with");
  const OptionParser::Option ranks =
      app.add("--ranks", measure.ranks, "processes that train together, in the lessons that can");
  app.flag("--list", out.list, "the lessons in order, and nothing is run");
  app.flag("--json", measure.json, "one JSON object instead of the tables");
  app.footer("Every key, its default and what it means: lessons/base.toml");
  const ParseWords say = {.where = "./isobar ladder", .example = "--repeats 3", .hint_extra = hint_for_word};
  if (!app.parse(words, say)) return std::nullopt;
  checked_count(measure.repeats, kMostRepeats, "--repeats");
  if (steps.given()) checked_count(out.steps, kMostSteps, "--steps");
  if (ranks.given()) checked_count(measure.ranks, kMostLocalRanks, "--ranks");
  for (const std::string& set : measure.settings.sets) check_free(set, "ladder", /*whole=*/true);
  measure.whole = true;
  for (const std::string& typed : split(lessons, ',')) {
    if (typed.empty()) continue;
    const std::string name = find_lesson(project_home(), typed).name;
    if (std::find(out.lessons.begin(), out.lessons.end(), name) != out.lessons.end())
      throw Error("the lesson " + name + " is there twice", "--lessons " + printable(lessons), "");
    out.lessons.push_back(name);
  }
  return out;
}

/// Why a lesson cannot run here; "" = it can.
std::string why_not(const LessonInfo& lesson) {
  if (lesson.stands_alone) return "it is no rung of the ladder";
  if (lacks_device(lesson))
    return "it needs an NVIDIA GPU, and there is none here; ./isobar show " + lesson.name +
           " --recorded shows one";
  if (!fs::exists(program_folder() / lesson.name)) return "it is not built; ./isobar setup builds it";
  return "";
}

/// Lessons of which each goes on from the one before: not those that stand alone or branch off.
std::vector<std::string> rungs_of(const fs::path& home) {
  std::vector<std::string> out;
  for (const std::string& name : lesson_names(home)) {
    const LessonInfo lesson = read_lesson(home, name);
    const bool branches = !lesson.previous.empty() && !out.empty() && lesson.previous != out.back();
    if (!lesson.stands_alone && !branches) out.push_back(name);
  }
  return out;
}

int list_lessons() {
  const fs::path home = project_home();
  for (const std::string& name : rungs_of(home)) {
    const bool built = fs::exists(program_folder() / name);
    std::printf("%-20s %s%s\n", name.c_str(), read_lesson(home, name).title.c_str(),
                built ? "" : "  (not built yet)");
  }
  return 0;
}

/// One preset for all: the one that the first lesson has for this device. And the steps asked for.
void fix_settings(LadderArguments& arguments, const LessonInfo& first) {
  Settings& settings = arguments.measure.settings;
  if (arguments.steps > 0) settings.sets.push_back(fmt::format("train.steps={}", arguments.steps));
  if (!settings.preset.empty()) return;
  settings.preset =
      load_config(project_home(), first, settings, preset_device_kind(settings, likely_device_kind)).preset;
}

/// The setting of --ranks for a lesson that can train on several.
std::vector<std::string> rank_setting(const MeasureArguments& arguments, const LessonInfo& lesson) {
  if (arguments.ranks == 0 || !honours(lesson, "run.ranks")) return {};
  return {fmt::format("run.ranks={}", arguments.ranks)};
}

Rung rung_of(const MeasuredPoint& point) {
  Rung rung{.lesson = point.name, .repeats = point.repeats};
  if (!point.runs.empty()) rung.settings = config_of(point.runs.front());
  return rung;
}

}  // namespace

int ladder_command(const Words& words) {
  std::optional<LadderArguments> parsed = parse_ladder(words);
  if (!parsed) return 0;
  LadderArguments& arguments = *parsed;
  if (arguments.list) return list_lessons();
  LadderResult result;
  std::vector<MeasuredPoint> points;
  const bool all = arguments.lessons.empty();
  for (const std::string& name : all ? rungs_of(project_home()) : arguments.lessons) {
    LessonInfo lesson = read_lesson(project_home(), name);
    if (const std::string reason = why_not(lesson); !reason.empty()) {
      result.left_out.push_back(name + " is left out: " + reason);
      continue;
    }
    points.push_back({.name = name, .sets = rank_setting(arguments.measure, lesson), .lesson = lesson});
    result.lessons.push_back(std::move(lesson));
  }
  if (points.empty()) {
    throw Error("none of the lessons can run here", "./isobar ladder",
                result.left_out.empty() ? "" : result.left_out.front(), Exit::failed);
  }
  fix_settings(arguments, result.lessons.front());
  arguments.measure.lesson = result.lessons.front();
  MeasuredRuns runs({.command = "ladder", .arguments = arguments.measure, .stop_at_failure = false},
                    std::move(points));
  if (const std::int64_t steps = runs.config(0).config.train.steps; steps <= kMeasureWarmUpSteps) {
    throw Error(fmt::format("{} steps are all warm-up: there would be no rate to compare", steps), "--steps",
                fmt::format("{} or more; lessons/base.toml has train.steps", kMeasureWarmUpSteps + 1));
  }
  const int code = runs.run();
  std::vector<Rung> rungs;
  for (const MeasuredPoint& point : runs.points()) rungs.push_back(rung_of(point));
  result.verdicts = judge_ladder(rungs);
  if (runs.first_view() != nullptr)
    ladder_report(result, runs, arguments.measure).print(arguments.measure.json);
  return code;
}

}  // namespace isobar
