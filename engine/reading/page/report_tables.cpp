#include <fmt/format.h>

#include <algorithm>

#include "analyse/case_tables.h"
#include "analyse/case_warnings.h"
#include "analyse/run_prediction.h"
#include "core/clock.h"
#include "core/text.h"
#include "page/html.h"
#include "page/report_parts.h"

namespace isobar {
namespace {

constexpr std::size_t kMostValue = 200;

}  // namespace

std::string milliseconds_text(double us) {
  return us > 0 ? fmt::format("{:.{}f}", us * 1e-3, us < 100 ? 4 : 2) : "-";
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
      const bool is_new = key.starts_with(kEnvironment) && key != "environment.command" &&
                          std::find(keys.begin(), keys.end(), key) == keys.end();
      if (is_new) keys.push_back(key);
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
  Table table = {
      .caption =
          "ms a step of the run itself, without its repeats: what the kept rates of this machine predict, "
          "beside what was measured",
      .columns = {"run", "stage", "by formula", "measured", "measured / formula"},
      .left = 2};
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
  Html out;
  out.table(table);
  return out.markup();
}

}  // namespace isobar
