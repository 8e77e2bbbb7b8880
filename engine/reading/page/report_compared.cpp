#include <fmt/format.h>

#include <algorithm>

#include "analyse/case_tables.h"
#include "analyse/ladder.h"
#include "analyse/run_comparison.h"
#include "core/text.h"
#include "draw/theme.h"
#include "page/html.h"
#include "page/report_parts.h"

namespace isobar {
namespace {

WaterfallSpec waterfall_of(const Theme& theme, const RunComparison& found, const std::string& base,
                           const std::string& other, std::size_t index) {
  WaterfallSpec out;
  out.id = "waterfall-" + other;
  out.title = fmt::format("From {} to {}: ms a {}", base, other, found.per);
  out.base = base;
  out.other = other;
  out.base_colour = theme.series[0];
  out.other_colour = theme.series[index % theme.series.size()];
  out.base_us = found.step.base_us;
  out.other_us = found.step.other_us;
  for (const StageDifference& part : found.stages) out.terms.push_back({part.stage, part.more_us()});
  return out;
}

/// One rung a lesson, in the order of their names, which is that of the ladder: the first case of each.
std::vector<Rung> rungs_of(const ReportCases& cases) {
  std::vector<Rung> out;
  for (const RunCase& one : cases) {
    const RunView& view = one.view();
    const bool fits = view.is_measured_here() && view.fault.empty() && view.summary.measure.empty();
    const bool is_new =
        std::none_of(out.begin(), out.end(), [&](const Rung& rung) { return rung.lesson == view.lesson; });
    if (fits && is_new) out.push_back({view.lesson, one.repeats, one.config});
  }
  std::sort(out.begin(), out.end(),
            [](const Rung& one, const Rung& other) { return one.lesson < other.lesson; });
  return out;
}

std::string speed_text(const std::optional<SpeedUp>& speed) { return speed ? ratio_text(*speed) : "-"; }

}  // namespace

std::string compared_part(const ReportCases& cases, const std::vector<RunComparison>& all, Figures& figures) {
  Html out;
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const RunComparison& found = all[i - 1];
    const std::string base = case_label(0), other = case_label(i);
    const std::string &from = cases.front().view().lesson, &to = cases[i].view().lesson;
    out.element("h3", fmt::format("{} and {}: {}", base, other, from == to ? from : from + ", " + to));
    out.paragraph(comparison_sentence(found, base, other), "said");
    if (i >= kMostDrawnRuns) continue;
    if (found.step.base_us > 0 && found.step.other_us > 0)
      out.raw(figures.waterfall(
          [&](const Theme& theme) { return waterfall_of(theme, found, base, other, i); }, found.no_ratio));
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
               rung.mfu > 0 ? fmt::format("{:.1f} %", 100 * rung.mfu) : "-",
               rung.valid_loss.empty() ? "-" : fmt::format("{:.4f}", rung.valid_loss.median())});
  }
  out.table(table);
  for (const RungVerdict& rung : verdicts) {
    for (const std::string& note : rung.notes) out.paragraph(note, "mark");
  }
  return out.markup();
}

}  // namespace isobar
