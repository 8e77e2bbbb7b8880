#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "analyse/ladder.h"
#include "cli/commands.h"
#include "cli/measured_runs.h"
#include "cli/shared_options.h"
#include "config/command_line.h"
#include "core/find.h"
#include "log/run_files.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLadderColumns = 75;

struct LadderArguments {
  MeasureArguments measure;  ///< without a lesson
  std::vector<std::string> lessons;
  std::int64_t steps = 0;  ///< 0 = the preset's
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
  app.add("--repeats", measure.repeats, "how often each is trained, in turn; default 3")
      .in_range(1, kMostRepeats);
  add_settings(app, measure.settings, project_home());
  app.add("--steps", out.steps, "training steps of each run; default: the preset's").in_range(1, kMostSteps);
  app.add("--lessons", lessons, "only these, a,b,c; the first is what the others are compared with");
  app.add("--ranks", measure.ranks, "processes that train together, in the lessons that can")
      .in_range(1, kMostLocalRanks);
  app.flag("--list", out.list, "the lessons in order, and nothing is run");
  app.flag("--json", measure.json, "one JSON object instead of the tables");
  app.footer("Every key, its default and what it means: lessons/base.toml");
  const ParseWords say = {.where = "./isobar ladder", .example = "--repeats 3", .hint_extra = hint_for_word};
  if (!app.parse(words, say)) return std::nullopt;
  for (const std::string& set : measure.settings.sets) check_free(set, "ladder", /*whole=*/true);
  measure.whole = true;
  for (const std::string& typed : split(lessons, ',')) {
    if (typed.empty()) continue;
    const std::string name = find_lesson(project_home(), typed).name;
    if (holds(out.lessons, name))
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

/// Lessons of which each continues the one before: not those that stand alone or branch off.
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
  settings.preset = load_here(first, settings).preset;
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

/// What was measured, with its judgement, lesson by lesson.
struct LadderResult {
  std::vector<LessonInfo> lessons;    ///< lessons that were run
  std::vector<RungVerdict> verdicts;  ///< their verdicts
  std::vector<std::string> left_out;  ///< sentences: which lesson is not run here, and why
};

std::string parity_text(const RungVerdict& verdict) {
  switch (verdict.parity) {
    case Parity::baseline:
      return "(the first)";
    case Parity::bit_equal:
      return "bit-equal";
    case Parity::within:
      return fmt::format("alike {:+.2g} %", 100 * verdict.difference);
    case Parity::differs:
      return fmt::format("DIFFERS {:+.2g} %", 100 * verdict.difference);
    case Parity::unknown:
      break;
  }
  return "-";
}

std::int64_t crowded_runs(const MeasuredPoint& point) {
  return std::ranges::count_if(point.repeats,
                               [](const SteadyFigures& one) { return one.view.summary.is_crowded(); });
}

void add_speed_up(Row& out, const char* key, const char* head, const std::optional<SpeedUp>& speed) {
  Json told;
  if (speed) told["over"] = speed->over;
  if (speed) add_to(told, *speed);
  out.add(key, head, speed ? ratio_text(*speed) : "-", told);
}

Row speed_row(const MeasuredPoint& point, const LessonInfo& lesson, const RungVerdict& verdict) {
  Row out;
  out.add("lesson", "lesson", point.name, point.name);
  out.json["title"] = lesson.title;
  point.add_to(out, crowded_runs(point) > 0 ? " !" : "");
  if (point.repeats.empty()) {
    const std::string failure = first_line(point.failure, "", 200);
    return out.end(failure.empty() ? "not run" : "failed: " + failure);
  }
  add_speed_up(out, "speed_up_on_previous", "on last", verdict.on_previous);
  add_speed_up(out, "speed_up_on_baseline", "on first", verdict.on_baseline);
  add_to(out, *figure_named("mfu"), point.repeats);
  out.json["crowded_runs"] = crowded_runs(point);
  return out;
}

/// Where its time goes, and whether it trains like the first.
Row reason_row(const MeasuredPoint& point, const RungVerdict& verdict) {
  Row out;
  out.cell("lesson", point.name);
  out.add("precision", "type", verdict.precision + (verdict.emulated ? " emulated" : ""), verdict.precision);
  out.json["emulated"] = verdict.emulated;
  out.cell("where the time goes", verdict.parts.is_known() ? verdict.parts.text(2) : "-");
  if (verdict.parts.is_known()) {
    out.json["bound"] = kPartNames[static_cast<std::size_t>(verdict.parts.largest())];
    for (std::size_t i = 0; i < kPartNames.size(); ++i)
      out.json["parts"][kPartNames[i]] = verdict.parts.shares[i];
  }
  out.add("valid_loss", "valid", Quantity::score, verdict.valid_loss.known_median());
  out.add("parity", "like the first", parity_text(verdict), parity_name(verdict.parity));
  out.json["trains_differently"] = verdict.parity == Parity::differs;
  add_to(out, *figure_named("peak_bytes"), point.repeats);
  out.json["peak_flops_per_s"] = verdict.peak_flops_per_s;
  out.json["peak_source"] = verdict.peak_of_data_sheet ? "data sheet" : "matrix products";
  add_members(out.json, ISOBAR_NAMED(verdict.difference, verdict.band, verdict.notes));
  return out;
}

/// Peaks are measured a little differently in each rung: one figure a type is enough.
std::string peak_sentence(const LadderResult& result) {
  std::map<std::string, std::string> told;
  for (const RungVerdict& verdict : result.verdicts) {
    if (verdict.peak_flops_per_s > 0)
      told.emplace(verdict.arithmetic,
                   fmt::format("{} {} ({})", verdict.arithmetic, human_flops(verdict.peak_flops_per_s),
                               verdict.peak_of_data_sheet ? "data sheet" : "matrix products, measured here"));
  }
  std::vector<std::string> parts;
  for (const auto& [type, text] : told) parts.push_back(text);
  return parts.empty() ? "" : "MFU is of " + joined(parts) + ".";
}

/// What was published of the lessons, recorded elsewhere and in no ratio with what was measured here; JSON
/// has each with its device.
void add_published(Report& report, const LadderResult& result) {
  std::set<std::int64_t> years;
  std::string device;
  for (const LessonInfo& lesson : result.lessons) {
    years.insert(lesson.published.years.begin(), lesson.published.years.end());
    if (device.empty()) device = lesson.published.device;
  }
  if (!years.empty()) {
    report.line(
        fmt::format("\nsamples/s published by the ERA5 tutorial on one {}, batch 16 of 360 x 720", device));
    report.line("(recorded there, not here: rows of one column compare, nothing else does)");
  }
  std::vector<Row> rows;
  for (const LessonInfo& lesson : result.lessons) {
    const Published& published = lesson.published;
    if (published.years.empty()) continue;
    Row& row = rows.emplace_back();
    row.add("lesson", "lesson", lesson.name, lesson.name);
    row.json["provenance"] = "recorded";
    add_members(row.json,
                ISOBAR_NAMED(published.device, published.years, published.samples_per_s, published.stacks));
    for (const std::int64_t year : years) {
      const auto found = std::ranges::find(published.years, year);
      const auto at = static_cast<std::size_t>(found - published.years.begin());
      row.cell(std::to_string(year), at < published.samples_per_s.size()
                                         ? fmt::format("{:.2f}", published.samples_per_s[at])
                                         : "-");
    }
  }
  report.rows("published", rows);
}

Report ladder_report(const LadderResult& result, const MeasuredRuns& runs,
                     const MeasureArguments& arguments) {
  Report out;
  const std::int64_t repeats = arguments.repeats;
  const std::int64_t steps = runs.config(0).config.train.steps;
  const RunView* const first = runs.first_view();  // one preset and number of steps for all
  out.line(fmt::format("ladder: preset {} on {}, {} steps, {} in turn{}", runs.config(0).preset,
                       runs.device(), steps, counted(repeats, "repeat"),
                       runs.was_stopped() ? ", stopped before the end" : ""));
  out.line(fmt::format("(measured here; rates without the warm-up of {} steps)",
                       first == nullptr ? 0 : first->summary.warm_up_steps));
  std::vector<Row> speeds, reasons;
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    const MeasuredPoint& point = runs.points()[i];
    Row& speed = speeds.emplace_back(speed_row(point, result.lessons[i], result.verdicts[i]));
    if (point.repeats.empty()) continue;
    add_members(speed.json, reasons.emplace_back(reason_row(point, result.verdicts[i])).json);
  }
  out.json = head_json("ladder", runs.group(), steps, runs, arguments);
  out.rows("rungs", speeds);
  if (shared_processors(runs).runs > 0)
    out.line("  ! other programs took part of the processors: this rate is low");
  out.line(
      static_cast<std::size_t>(repeats) >= kLeastRepeats
          ? "  ± half of the 95 % interval; same: it holds 1, or less than 2 % apart\n"
          : fmt::format("  fewer than {0} repeats tell only what lies far apart: --repeats {0} tells more\n",
                        kLeastRepeats));
  out.table(table_of(reasons, 3));
  out.line("  valid: the last validation loss; alike: within 2 % (16 bits) or 0.01 %");
  for (const RungVerdict& verdict : result.verdicts) {
    for (const std::string& note : verdict.notes) out.wrapped("! " + note, kLadderColumns);
  }
  for (const std::string& sentence : result.left_out) out.wrapped(sentence, kLadderColumns);
  if (const std::string peak = peak_sentence(result); !peak.empty()) out.wrapped(peak, kLadderColumns);
  out.json["left_out"] = result.left_out;
  add_published(out, result);
  out.line("");
  add_end(out, runs, "repeat");
  return out;
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
