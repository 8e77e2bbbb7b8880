#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyse/case_figures.h"
#include "analyse/run_keys.h"
#include "analyse/run_prediction.h"
#include "core/clock.h"
#include "core/text.h"
#include "page/html.h"
#include "page/report_parts.h"

namespace isobar {
namespace {

constexpr std::size_t kMostValue = 200;

std::string run_name(const RunCase& one) { return printable(one.folder.filename().string(), 120); }

/// In a word; what there is to say of it stands below the table.
std::string origin_text(const RunView& view) {
  return view.is_measured_here() ? "measured" : !view.replay_of.empty() ? "replayed" : view.provenance;
}

std::vector<std::string> labels(const ReportCases& cases, std::string first) {
  std::vector<std::string> out = {std::move(first)};
  for (std::size_t i = 0; i < cases.size(); ++i) out.push_back(case_label(i));
  return out;
}

/// The channel of which every scored run has its RMSE; "" where they differ.
std::string common_headline(const ReportCases& cases) {
  std::set<std::string> found;
  for (const RunCase& one : cases) {
    if (one.view().summary.has_scores) found.insert(one.view().summary.headline);
  }
  return found.size() == 1 ? printable(*found.begin(), 40) : "";
}

}  // namespace

std::string milliseconds_text(double us) {
  return us > 0 ? fmt::format("{:.{}f}", us * 1e-3, us < 100 ? 4 : 2) : "-";
}

std::string runs_part(const ReportCases& cases, const std::vector<RunComparison>& found) {
  const std::string headline = common_headline(cases);
  const bool with_others = cases.size() > 1;
  constexpr std::ptrdiff_t kVersus = 7;
  std::vector<std::string> heads = {
      "",        "run",    "lesson",     "origin",
      "repeats", "steps",  "samples/s",  "ms a step",
      "MFU",     "memory", "valid loss", headline.empty() ? "RMSE" : "RMSE " + headline};
  if (with_others) heads.insert(heads.begin() + kVersus, "vs A");
  HtmlTable table(
      "samples/s and ms a step after the warm-up: the middle of the repeats, with least and most of them",
      std::move(heads), 4);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RunCase& one = cases[i];
    const RunSummary& summary = one.view().summary;
    const double bytes = most_peak_bytes(one), mfu = median_mfu(one), loss = valid_losses(one).median();
    const std::string channel = headline.empty() ? " " + summary.headline : "";
    std::vector<std::string> row = {
        case_label(i),
        run_name(one),
        one.view().lesson + (one.view().preset.empty() ? "" : " " + one.view().preset),
        origin_text(one.view()),
        std::to_string(one.repeats.size()),
        human_count(summary.steps),
        rate_text(rates(one.repeats)),
        milliseconds_text(mean_step_us(one)),
        mfu > 0 ? fmt::format("{:.1f} %", 100 * mfu) : "-",
        bytes > 0 ? human_bytes(static_cast<std::uint64_t>(bytes)) : "-",
        loss > 0 ? fmt::format("{:.4f}", loss) : "-",
        summary.has_scores ? fmt::format("{:.4f}{}", summary.rmse, channel) : "-"};
    if (with_others) row.insert(row.begin() + kVersus, i == 0 ? "base" : versus_text(found[i - 1]));
    table.add(std::move(row));
  }
  Html out;
  out.raw(table.markup());
  for (const std::string& warning : case_warnings(cases)) out.paragraph(warning, "mark");
  return out.markup();
}

std::string hardware_part(const ReportCases& cases) {
  constexpr std::string_view kEnvironment = "environment.";
  std::vector<std::string> keys;
  for (const RunCase& one : cases) {
    for (const auto& [key, value] : one.config) {
      const bool is_new = key.starts_with(kEnvironment) && key != "environment.command" &&
                          std::find(keys.begin(), keys.end(), key) == keys.end();
      if (is_new) keys.push_back(key);
    }
  }
  HtmlTable common("", {"where and with what", "all runs"}, 2);
  HtmlTable of_each("", labels(cases, "where and with what"), cases.size() + 1);
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
  out.raw(common.markup());
  out.raw(of_each.markup());
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
  std::vector<const ConfigText*> configs;
  for (const RunCase& one : cases) configs.push_back(&one.config);
  const bool with_logs =
      std::any_of(cases.begin(), cases.end(), [](const RunCase& one) { return !one.view().source.empty(); });
  HtmlTable table("", labels(cases, "key"), cases.size() + 1);
  for (const KeyRow& row : key_rows(configs)) {
    // A log of another program knows few keys: the others do not differ, they are not said.
    const bool counts = with_logs ? row.two_values : row.differs;
    if (!counts || row.is_label() || row.is_environment()) continue;
    std::vector<std::string> cells = {row.key};
    for (const std::string& value : row.values)
      cells.push_back(value.empty() ? "-" : printable(value, kMostValue));
    table.add(std::move(cells));
  }
  Html out;
  const bool unknown =
      std::any_of(configs.begin(), configs.end(), [](auto* config) { return config->empty(); });
  if (unknown) out.paragraph("The settings of a run without run.toml are not known.", "mark");
  if (table.empty() && !unknown) out.paragraph("No key differs.");
  out.raw(table.markup());
  return out.markup();
}

std::string formulas_part(const ReportCases& cases) {
  HtmlTable table(
      "ms a step of the run itself, without its repeats: what the kept rates of this machine predict, beside "
      "what was "
      "measured",
      {"run", "stage", "by formula", "measured", "measured / formula"}, 2);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RunView& view = cases[i].view();
    if (!view.is_measured_here() || view.summary.step_us <= 0) continue;
    const std::optional<StepStages> predicted = predicted_for(cases[i].folder, view.lesson);
    if (!predicted) continue;
    const auto add = [&](const std::string& stage, double formula_us, double measured_us) {
      if (formula_us <= 0 && measured_us <= 0) return;
      const bool both = formula_us > 0 && measured_us > 0;
      table.add({case_label(i), stage, milliseconds_text(formula_us), milliseconds_text(measured_us),
                 both ? fmt::format("{:.2f}", measured_us / formula_us) : "-"});
    };
    for (const auto& [stage, us] : predicted->named()) add(stage, us, view.summary.stage_us(stage));
    add("step", predicted->step_us(), view.summary.step_us);
  }
  return table.markup();
}

}  // namespace isobar
