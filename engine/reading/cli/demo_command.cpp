// Two lessons on the disk that is here and on a slow one, compared: what all other commands are about, in
// five minutes.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "cli/case_text.h"
#include "cli/commands.h"
#include "cli/measured_runs.h"
#include "cli/shared_options.h"
#include "core/find.h"
#include "draw/colour.h"
#include "draw/svg_canvas.h"
#include "log/event.h"
#include "plot/run_drawings.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPreset = "cpu_micro";
constexpr const char* kSlow = "data.throttle_mb_per_s=40";

/// The lesson that brings workers, behind the one before it.
const std::array<LessonInfo, 2>& demo_lessons() {
  static const std::array<LessonInfo, 2> kLessons = [] {
    const std::filesystem::path home = project_home();
    for (const std::string& name : lesson_names(home)) {
      const LessonInfo lesson = read_lesson(home, name);
      if (holds(lesson.introduces, "data.workers"))
        return std::array{read_lesson(home, lesson.previous), lesson};
    }
    throw Error("no lesson introduces data.workers", "./isobar demo", "the lessons are those of a clone");
  }();
  return kLessons;
}
enum Case : std::size_t { baseline, workers, slow_baseline, slow_workers };

std::vector<MeasuredPoint> demo_points() {
  std::vector<MeasuredPoint> out;
  for (const bool slow : {false, true}) {
    for (const LessonInfo& lesson : demo_lessons()) {
      MeasuredPoint point{.name = lesson.name, .sets = {}, .lesson = lesson};
      if (slow) point.name += " on a slow disk";
      if (slow) point.sets.emplace_back(kSlow);
      out.push_back(std::move(point));
    }
  }
  return out;
}

std::optional<MeasureArguments> parse_demo(const Words& words) {
  MeasureArguments out;
  OptionParser app(
      "Trains one lesson and the one that reads ahead on the disk that is here and on a slow one, three "
      "times "
      "in turn, and compares them: about five minutes on the CPU of a laptop",
      "./isobar demo");
  app.add("--repeats", out.repeats, "how often each is trained, in turn; default 3")
      .in_range(1, kMostRepeats);
  if (!app.parse(words, {.where = "./isobar demo", .example = "--repeats 5"})) return std::nullopt;
  out.lesson = demo_lessons()[0];
  out.settings.preset = kPreset;
  out.settings.sets = {"run.device=cpu", "train.steps=320"};
  out.whole = true;
  return out;
}

Report plan_text(const MeasuredRuns& runs, const MeasureArguments& arguments) {
  Report out;
  const std::size_t all = runs.points().size() * static_cast<std::size_t>(arguments.repeats);
  out.wrapped(fmt::format(
      "The demo trains one small model {} times, and compares: lesson {}, which reads a batch and "
      "then computes, with lesson {}, in which other threads read ahead; both on the disk that is "
      "here, and with reading held to 40 MB/s, as from a slow one.",
      all, demo_lessons()[0].name, demo_lessons()[1].name));
  out.wrapped(
      fmt::format("That takes about {} on the CPU of a laptop. Ctrl-C ends it; guess meanwhile where reading "
                  "ahead helps, and how much.",
                  about_seconds(25.0 * static_cast<double>(all))));
  return out;
}

std::string draw_rates(const MeasuredRuns& runs) {
  const Theme& theme = theme_of(false);
  ScoreSpec spec;
  spec.title = "samples/s, median of the repeats, on " + runs.device() + " (measured here)";
  for (const MeasuredPoint& point : runs.points()) {
    ScoreRow row = score_row(point.repeats);
    row.label = point.name;
    row.facts = counted(static_cast<std::int64_t>(point.repeats.size()), "run");
    row.colour = theme.series[spec.rows.size() % demo_lessons().size()];
    spec.rows.push_back(std::move(row));
  }
  const float width = 960;
  SvgCanvas measuring(width, 1, theme.panel);
  const float height = scoreboard_height(spec, measuring);
  SvgCanvas canvas(width, height, theme.panel);
  paint_scoreboard(canvas, theme, spec, {0, 0, width, height});
  return canvas.text();
}

/// The newest run of each point, with its repeats.
std::vector<RunCase> cases_of(const MeasuredRuns& runs) {
  std::vector<fs::path> newest;
  for (const MeasuredPoint& point : runs.points()) newest.push_back(point.runs.back());
  return read_cases(newest);
}

/// Prints `compare` of two of them, under its command.
void print_pair(const std::vector<RunCase>& cases, const std::string& title, Case base, Case other) {
  Report head;
  head.line("");
  head.line(title + ": ./isobar compare " + shell_quoted(cases[base].folder.filename().string()) + " " +
            shell_quoted(cases[other].folder.filename().string()));
  head.print(/*as_json=*/false);
  compare_report({cases[base], cases[other]}, text_columns(), table_columns()).print(/*as_json=*/false);
}

std::string next_of(const RunComparison& slow) {
  const std::string settings = fmt::format("--preset {} --set {}", kPreset, kSlow);
  if (!slow.speed || slow.speed->direction == Direction::unknown)
    return "once more; those runs are counted together with these:\n  ./isobar demo";
  if (slow.speed->direction == Direction::more)
    return fmt::format(
        "how many threads are enough? Guess first:\n  ./isobar sweep {} data.workers=1,2,4,8 {}",
        demo_lessons()[1].name, settings);
  return fmt::format("what holds it back?\n  ./isobar quartet {} {}", demo_lessons()[1].name, settings);
}

Report seen_text(const std::vector<RunCase>& cases, const MeasuredRuns& runs, const fs::path& picture) {
  Report out;
  out.line("");
  out.line("What was seen");
  const RunComparison slow = compare_runs(cases[slow_baseline], cases[slow_workers]);
  const auto say = [&](const std::string& where, const RunComparison& found, const std::string& base,
                       const std::string& other) {
    out.wrapped(where + comparison_sentence(found, base, other));
  };
  say("On this disk: ", compare_runs(cases[baseline], cases[workers]), demo_lessons()[0].name,
      demo_lessons()[1].name);
  say("At 40 MB/s: ", slow, demo_lessons()[0].name, demo_lessons()[1].name);
  say("What a fast disk is worth: ", compare_runs(cases[slow_baseline], cases[baseline]), "at 40 MB/s",
      demo_lessons()[0].name + " on this disk");
  add_end(out, runs, "training");
  out.line("  picture: " + picture.string());
  out.line("try: " + next_of(slow));
  return out;
}

}  // namespace

int demo_command(const Words& words) {
  const std::optional<MeasureArguments> arguments = parse_demo(words);
  if (!arguments) return 0;
  MeasuredRuns runs({.command = "demo", .arguments = *arguments}, demo_points());
  plan_text(runs, *arguments).print(/*as_json=*/false);
  std::fflush(stdout);
  if (const int code = runs.run(); code != 0) return code;
  const std::vector<RunCase> cases = cases_of(runs);
  print_pair(cases, "On this disk", baseline, workers);
  print_pair(cases, "On a slow disk", slow_baseline, slow_workers);
  const fs::path picture = write_in_group(runs, "demo.svg", draw_rates(runs));
  seen_text(cases, runs, picture).print(/*as_json=*/false);
  return 0;
}

}  // namespace isobar
