#include "page/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyse/case_tables.h"
#include "analyse/case_warnings.h"
#include "analyse/figure.h"
#include "analyse/ladder.h"
#include "analyse/run_comparison.h"
#include "analyse/run_prediction.h"
#include "core/clock.h"
#include "core/find.h"
#include "core/text.h"
#include "course/calibration.h"
#include "course/question.h"
#include "draw/colour.h"
#include "page/html.h"
#include "page/report_parts.h"
#include "plot/run_drawings.h"

namespace isobar {
namespace {

/// "Isobar report: NN_name, MM_other", to be found among other pages.
std::string title_of(const std::vector<RunCase>& cases) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> lessons;
  for (const RunCase& one : cases) {
    const std::string lesson = printable(one.view().lesson, 40);
    if (!lesson.empty() && !holds(lessons, lesson)) lessons.push_back(lesson);
  }
  const bool more = lessons.size() > kMost;
  if (more) lessons.resize(kMost);
  return "Isobar report" + (lessons.empty() ? "" : ": " + joined(lessons)) + (more ? ", ..." : "");
}

constexpr std::size_t kMostValue = 200;

/// One rung a lesson, in the order of their names, which is that of the ladder: the first case of each.
std::vector<Rung> rungs_of(const ReportCases& cases) {
  std::vector<Rung> out;
  for (const RunCase& one : cases) {
    const RunView& view = one.view();
    const bool fits = view.is_measured_here() && view.fault.empty() && view.summary.measure.empty();
    if (fits && find_by(out, &Rung::lesson, view.lesson) == nullptr)
      out.push_back({view.lesson, one.repeats, one.config});
  }
  std::ranges::sort(out, {}, &Rung::lesson);
  return out;
}

std::string speed_text(const std::optional<SpeedUp>& speed) { return speed ? ratio_text(*speed) : "-"; }

/// The newest answer of each question, in the order in which they were first asked.
std::vector<const StoredAnswer*> newest_answers(const CourseProgress& progress,
                                                const std::set<std::string>& lessons) {
  std::vector<const StoredAnswer*> out;
  std::set<std::string> seen;
  for (const StoredAnswer& one : progress.answers) {
    const bool wanted = lessons.empty() || lessons.count(one.lesson) != 0;
    if (wanted && seen.insert(one.id).second) out.push_back(progress.answer(one.id));
  }
  return out;
}

std::string runs_part(const ReportCases& cases, const std::vector<RunComparison>& found) {
  Html out;
  out.table(cases_table(cases, found));
  for (const std::string& warning : case_warnings(cases)) out.paragraph(warning, "mark");
  return out.markup();
}

std::string hardware_part(const ReportCases& cases) {
  constexpr std::string_view kEnvironment = "environment.";
  std::vector<std::string> keys;
  for (const RunCase& one : cases) {
    for (const auto& [key, value] : one.config) {
      if (key.starts_with(kEnvironment) && key != "environment.command" && !holds(keys, key))
        keys.push_back(key);
    }
  }
  Table common = {.columns = {"where and with what", "all runs"}, .left = 2};
  Table of_each = {.columns = {"where and with what"}, .left = cases.size() + 1};
  for (std::size_t i = 0; i < cases.size(); ++i) of_each.columns.push_back(case_label(i));
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key.substr(kEnvironment.size())};
    for (const RunCase& one : cases) {
      const std::string value = printable(minute_text(value_in(one.config, key)), kMostValue);
      row.push_back(value.empty() ? "-" : value);
    }
    const bool is_common =
        cases.size() > 1 && std::count(row.begin() + 1, row.end(), row[1]) == std::ssize(cases);
    if (is_common)
      common.add({row[0], row[1]});
    else
      of_each.add(std::move(row));
  }
  Html out;
  out.table(common);
  out.table(of_each);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string command = value_in(cases[i].config, "environment.command");
    if (command.empty()) continue;
    out.element("h3", case_label(i) + " was started by");
    out.command(command);
  }
  return out.markup();
}

std::string settings_part(const ReportCases& cases) {
  if (cases.size() < 2) return "";
  const Table settings = keys_table(differing_keys(cases), /*environment=*/false, cases.size());
  const bool unknown = some_settings_unknown(cases);
  Html out;
  if (unknown) out.paragraph("The settings of a run without run.toml are not known.", "mark");
  if (settings.empty() && !unknown) out.paragraph("No key differs.");
  out.table(settings);
  return out.markup();
}

std::string formulas_part(const ReportCases& cases) {
  Table table = {.caption =
                     "ms a step of the run itself, without its repeats: what the kept rates of this machine "
                     "predict, beside what was measured",
                 .columns = {"run", "stage", "by formula", "measured", "measured / formula"},
                 .left = 2};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RunView& view = cases[i].view();
    if (!view.is_measured_here() || view.summary.step_us <= 0) continue;
    const std::optional<StepStages> predicted = predicted_for(cases[i].folder, view.lesson);
    if (!predicted) continue;
    const auto add = [&](const std::string& stage, double formula_us, std::optional<double> measured_us) {
      if (!(formula_us > 0) && !(measured_us > 0)) return;
      const bool both = formula_us > 0 && measured_us > 0;
      table.add({case_label(i), stage, value_text(Quantity::time, formula_us),
                 value_text(Quantity::time, measured_us),
                 both ? value_text(Quantity::ratio, *measured_us / formula_us) : "-"});
    };
    for (const auto& [stage, us] : predicted->named()) add(stage, us, view.summary.stage_us(stage));
    add("step", predicted->step_us(), view.summary.step_us);
  }
  Html out;
  out.table(table);
  return out.markup();
}

std::string compared_part(const ReportCases& cases, const std::vector<RunComparison>& all, Figures& figures) {
  Html out;
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const RunComparison& found = all[i - 1];
    const std::string base = case_label(0), other = case_label(i);
    const std::string &from = cases.front().view().lesson, &to = cases[i].view().lesson;
    out.element("h3", fmt::format("{} and {}: {}", base, other, from == to ? from : from + ", " + to));
    out.paragraph(comparison_sentence(found, base, other), "said");
    if (i >= kMostDrawnRuns) continue;
    if (found.step.base_us > 0 && found.step.other_us > 0) {
      const auto spec_of = [&](const Theme& theme) {
        WaterfallSpec spec = waterfall_of(found, base, other);
        spec.base_colour = theme.series[0];
        spec.other_colour = theme.series[i % theme.series.size()];
        return spec;
      };
      out.raw(figures.waterfall(spec_of, found.no_ratio));
    }
    out.table(stages_table(found, base, other));
    out.table(losses_table(found, base, other));
    if (const std::string command = repeats_command(cases.front(), cases[i], found); !command.empty()) {
      out.paragraph("More repeats would tell:", "dim");
      out.command(command);
    }
  }
  return out.markup();
}

std::string ladder_part(const ReportCases& cases) {
  const std::vector<Rung> rungs = rungs_of(cases);
  if (rungs.size() < 2) return "";
  const std::vector<RungVerdict> verdicts = judge_ladder(rungs);
  Table table = {.caption = "each lesson against the one before it and against the first",
                 .columns = {"lesson", "type", "where the time goes", "like the first", "samples/s",
                             "on last", "on first", "MFU", "valid loss"},
                 .left = 4};
  Html out;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const RungVerdict& rung = verdicts[i];
    table.add({rungs[i].lesson, rung.precision + (rung.emulated ? " emulated" : ""),
               rung.parts.is_known() ? rung.parts.text(2) : "-", parity_name(rung.parity),
               rung.rate.empty() ? "-" : fmt::format("{:.1f}", rung.rate.median()),
               speed_text(rung.on_previous), speed_text(rung.on_baseline),
               figure_cell(*figure_named("mfu"), rungs[i].repeats),
               rung.valid_loss.empty() ? "-" : fmt::format("{:.4f}", rung.valid_loss.median())});
  }
  out.table(table);
  for (const RungVerdict& rung : verdicts) {
    for (const std::string& note : rung.notes) out.paragraph(note, "mark");
  }
  return out.markup();
}

std::string answers_part(const CourseProgress& progress, const ReportCases& cases,
                         const std::filesystem::path& home) {
  std::set<std::string> lessons;
  for (const RunCase& one : cases) lessons.insert(one.view().lesson);
  const std::vector<const StoredAnswer*> answers = newest_answers(progress, lessons);
  Html out;
  if (!progress.problems.empty())
    out.paragraph("Lines of the record could not be read and are left out.", "mark");
  if (answers.empty()) {
    out.paragraph("No question of these lessons was answered yet.");
    return out.markup();
  }
  const CourseQuestions all = all_questions(home);
  Table table = {
      .caption =
          "answers were stored before the runs were looked at; what is not revealed yet has no truth here",
      .columns = {"question", "asked", "answer", "outcome", "truth", "from", "answered"},
      .left = 7};
  for (const StoredAnswer* const answer : answers) {
    const Question* const question = find_by(all.questions, &Question::id, answer->id);
    const StoredReveal* const reveal = progress.reveal(answer->id);
    table.add({answer->id, question == nullptr ? "a question of another version" : question->ask,
               question == nullptr ? answer->text : answer_words(*question, *answer),
               reveal == nullptr ? "committed" : reveal->outcome, reveal == nullptr ? "" : reveal->truth,
               reveal == nullptr ? "" : reveal->source, minute_text(answer->time)});
  }
  out.table(table);
  if (const std::string text = calibration_sentence(calibrate(progress)); !text.empty())
    out.paragraph(sentence_case(text) + ".");
  return out.markup();
}

}  // namespace

std::string report_page(const std::vector<RunCase>& cases, const CourseProgress* answers,
                        const std::filesystem::path& home, const ReportWish& wish) {
  Html body;
  std::vector<HtmlLink> contents;
  const auto add = [&](const char* id, const char* title, const std::string& markup) {
    if (markup.empty()) return;
    contents.push_back({id, title});
    body.begin_section(id, title);
    body.raw(markup);
    body.end_section();
  };
  const std::string by = wish.author.empty() ? "" : " by " + wish.author;
  body.paragraph(fmt::format("{}{}, made {}", counted(static_cast<std::int64_t>(cases.size()), "run"), by,
                             minute_text(wall_iso())),
                 "dim");
  Figures figures;
  const std::vector<RunComparison> found = compare_with_first(cases);
  add("runs", "Runs", runs_part(cases, found));
  add("compared", "Compared", compared_part(cases, found, figures));
  add("ladder", "Ladder", ladder_part(cases));
  add("curves", "Curves", curves_part(cases, figures));
  add("anatomy", "Where a step's time goes", anatomy_part(cases, figures));
  add("formulas", "By formula, and measured", formulas_part(cases));
  if (answers != nullptr) add("answers", "Questions and answers", answers_part(*answers, cases, home));
  if (wish.maps) add("maps", "Maps", maps_part(cases, figures));
  add("settings", "Settings that differ", settings_part(cases));
  add("hardware", "Hardware and commands", hardware_part(cases));
  return html_document(wish.title.empty() ? title_of(cases) : wish.title, contents, body.markup());
}

}  // namespace isobar
