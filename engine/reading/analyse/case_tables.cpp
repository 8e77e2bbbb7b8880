#include "analyse/case_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analyse/figure.h"
#include "core/text.h"

namespace isobar {
namespace {

using Cases = std::vector<RunCase>;
constexpr std::size_t kMostName = 120, kMostValue = 200;

/// The name of its folder, behind the lesson where another case has a folder of the same name.
std::string run_name(const Cases& cases, const RunCase& one) {
  const auto same = [&](const RunCase& other) { return other.folder.filename() == one.folder.filename(); };
  const bool is_alone = std::ranges::count_if(cases, same) == 1;
  return printable((is_alone ? "" : one.view().lesson + " ") + one.folder.filename().string(), kMostName);
}

/// In a word; case_warnings has the rest.
std::string origin_text(const RunView& view) {
  return view.is_measured_here() ? "measured" : !view.replay_of.empty() ? "replayed" : view.provenance;
}

/// The channel of which every scored case has its RMSE; "" where they differ.
std::string common_headline(const Cases& cases) {
  std::set<std::string> found;
  for (const RunCase& one : cases) {
    if (one.view().summary.has_scores) found.insert(one.view().summary.headline);
  }
  return found.size() == 1 ? printable(*found.begin(), 40) : "";
}

}  // namespace

std::string case_label(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

Table cases_table(const Cases& cases, const std::vector<RunComparison>& against) {
  std::vector<const Repeats*> repeats;
  for (const RunCase& one : cases) repeats.push_back(&one.repeats);
  const std::vector<const Figure*> figures = reported_in(FigureTable::runs, repeats);
  const std::string headline = common_headline(cases);
  Table out = {
      .caption =
          "after the warm-up: the middle of the repeats, of samples/s with the least and the most of them",
      .columns = {"", "run", {"lesson", 1}, {"origin", 0}, {"runs", 5}, {"steps", 0}},
      .left = 4,
      .cut = 1,
      .cut_to = 2};
  const std::size_t versus = out.columns.size() + 1;
  for (const Figure* const figure : figures) out.columns.emplace_back(figure->head, figure->worth);
  if (cases.size() > 1) out.columns.insert(out.columns.begin() + static_cast<std::ptrdiff_t>(versus), "vs A");
  const bool scored =
      std::ranges::any_of(cases, [](const RunCase& one) { return one.view().summary.has_scores; });
  if (scored) out.columns.emplace_back(headline.empty() ? "RMSE" : "RMSE " + headline, 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RunCase& one = cases[i];
    const RunSummary& summary = one.view().summary;
    TableRow row = {case_label(i),
                    run_name(cases, one),
                    joined(std::vector{one.view().lesson, one.view().preset}, " "),
                    origin_text(one.view()),
                    std::to_string(one.repeats.size()),
                    human_count(summary.steps)};
    for (const Figure* const figure : figures) row.push_back(figure_cell(*figure, one.repeats));
    if (cases.size() > 1)
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(versus),
                 i == 0 ? "base" : versus_text(against[i - 1]));
    if (scored)
      row.push_back(summary.has_scores ? value_text(Quantity::score, summary.rmse) +
                                             (headline.empty() ? " " + printable(summary.headline, 40) : "")
                                       : "-");
    out.add(std::move(row));
  }
  return out;
}

Table comm_table(const Cases& cases) {
  Table out = {.columns = {"", "a step"}, .left = 2};
  std::vector<const Repeats*> repeats;
  for (const RunCase& one : cases) repeats.push_back(&one.repeats);
  const std::vector<const Figure*> figures = reported_in(FigureTable::comm, repeats);
  for (const Figure* const figure : figures) out.columns.push_back(figure->head);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!has_comm(cases[i].repeats)) continue;
    TableRow row = {case_label(i), "communication"};
    for (const Figure* const figure : figures) row.push_back(figure_cell(*figure, cases[i].repeats));
    out.add(std::move(row));
  }
  return out;
}

Table stages_table(const RunComparison& found, const std::string& base, const std::string& other) {
  Table out = {.caption = "ms a " + found.per + ", mean over the repeats" +
                          (found.of_ranks ? ", of the rank that waits least" : ""),
               .columns = {"ms a " + found.per, base, other, other + " - " + base}};
  if (found.stages.empty()) return out;
  const int digits = found.step.base_us < 10'000 ? 3 : 2;
  const auto add = [&](const StageDifference& part, const std::string& name) {
    out.add({name, fmt::format("{:.{}f}", part.base_us * 1e-3, digits),
             fmt::format("{:.{}f}", part.other_us * 1e-3, digits),
             fmt::format("{:+.{}f}", part.more_us() * 1e-3, digits)});
  };
  for (const StageDifference& part : found.stages) add(part, part.stage);
  add(found.step, found.per + " in all");
  return out;
}

Table losses_table(const RunComparison& found, const std::string& base, const std::string& other) {
  Table out = {.columns = {"validation loss", base, other}};
  const auto add = [&](const std::optional<LossesCompared::At>& at, const std::string& what,
                       const auto& text) {
    if (at) out.add({what, text(at->base), text(at->other)});
  };
  const auto loss = [](double value) { return value_text(Quantity::score, value); };
  const LossesCompared& losses = found.losses;
  const auto place = [](const std::optional<LossesCompared::At>& at) { return at ? at->place : 0; };
  add(losses.at_samples, "after " + human_count(std::llround(place(losses.at_samples))) + " samples", loss);
  add(losses.at_time, "after " + human_seconds(place(losses.at_time)), loss);
  add(losses.time_to, loss(place(losses.time_to)) + " is reached after", human_seconds);
  return out;
}

std::vector<KeyRow> differing_keys(const Cases& cases) {
  std::vector<const ConfigText*> configs;
  for (const RunCase& one : cases) configs.push_back(&one.config);
  const auto is_log = [](const RunCase& one) { return !one.view().source.empty(); };
  const bool with_logs = std::ranges::any_of(cases, is_log);
  std::vector<KeyRow> out = key_rows(configs);
  std::erase_if(
      out, [&](const KeyRow& row) { return !(with_logs ? row.two_values : row.differs) || row.is_label(); });
  return out;
}

Table keys_table(const std::vector<KeyRow>& keys, bool environment, std::size_t most) {
  Table out = {.columns = {environment ? "environment that differs" : "keys that differ"}, .cut = 1};
  for (const KeyRow& row : keys) {
    if (row.is_environment() != environment) continue;
    const std::size_t shown = std::min(most, row.values.size());
    for (std::size_t i = out.columns.size() - 1; i < shown; ++i) out.columns.push_back(case_label(i));
    out.add({environment ? row.key.substr(row.key.find('.') + 1) : row.key});
    for (std::size_t i = 0; i < shown; ++i)
      out.rows.back().push_back(row.values[i].empty() ? "-" : printable(row.values[i], kMostValue));
  }
  return out;
}

bool some_settings_unknown(const Cases& cases) {
  return std::ranges::any_of(cases, [](const RunCase& one) { return one.config.empty(); });
}

}  // namespace isobar
