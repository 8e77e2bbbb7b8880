#include "cli/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyse/case_figures.h"
#include "analyse/run_keys.h"
#include "cli/comm_columns.h"
#include "cli/runs_table.h"
#include "core/text.h"

namespace isobar {

namespace {

using Cases = std::vector<RunCase>;

constexpr std::size_t kMostDetails = 8;  // of more runs only the sentences

/// Columns of the scores.
enum ScoreColumn : std::size_t {
  kCaseLabel,
  kCaseName,
  kRunCount,
  kRate,
  kRatio,
  kStepTime,
  kMfu,
  kMemory,
  kLoss
};
/// First to last, where the terminal is narrow: what other lines say too goes before what they do not.
constexpr std::array<std::size_t, 5> kScoresLeftOut = {kMfu, kMemory, kStepTime, kRunCount, kLoss};
constexpr std::size_t kLeastCaseName = 16, kLeastValue = 12, kMostValue = 40;

/// Its folder, with the lesson where another case has a folder of the same name.
std::string run_name(const Cases& cases, std::size_t i) {
  const std::string name = cases[i].folder.filename().string();
  const auto same = [&](const RunCase& one) { return one.folder.filename() == name; };
  const bool is_known = std::count_if(cases.begin(), cases.end(), same) == 1;
  return printable(is_known ? name : cases[i].view().lesson + " " + name, 60);
}

TableRow score_row(const Cases& cases, std::size_t i, const RunComparison* found) {
  const RunCase& one = cases[i];
  const double loss = valid_losses(one).median();
  const double bytes = most_peak_bytes(one);
  const double step_us = mean_step_us(one);
  return {case_label(i),
          run_name(cases, i),
          std::to_string(one.repeats.size()),
          rate_text(rates(one.repeats)),
          found == nullptr ? "base" : versus_text(*found),
          step_us > 0 ? milliseconds(step_us) : "-",
          median_mfu(one) > 0 ? fmt::format("{:.1f} %", 100 * median_mfu(one)) : "-",
          bytes > 0 ? human_bytes(static_cast<std::uint64_t>(bytes)) : "-",
          loss > 0 ? fmt::format("{:.4f}", loss) : "-"};
}

std::vector<TableRow> without(const std::vector<TableRow>& rows, std::size_t left_out) {
  const auto end = kScoresLeftOut.begin() + static_cast<std::ptrdiff_t>(left_out);
  std::vector<TableRow> out;
  for (const TableRow& row : rows) {
    out.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (std::find(kScoresLeftOut.begin(), end, c) == end) out.back().push_back(row[c]);
  }
  return out;
}

/// The scores in so many columns: of those of kScoresLeftOut as few are left out as must be, then names are
/// cut in their middle.
std::vector<TableRow> fitted(const std::vector<TableRow>& scores, std::size_t columns) {
  constexpr std::size_t kLeft = 2;
  std::vector<TableRow> rows = scores;
  for (std::size_t n = 1; n <= kScoresLeftOut.size() && table_width(rows, kLeft) > columns; ++n)
    rows = without(scores, n);
  const std::size_t all = table_width(rows, kLeft);
  std::size_t longest = 0;
  for (const TableRow& row : rows) longest = std::max(longest, row[kCaseName].size());
  const std::size_t over = all - std::min(all, columns);
  const std::size_t most = std::max(kLeastCaseName, longest - std::min(longest, over));
  for (TableRow& row : rows) row[kCaseName] = cut_in_middle(row[kCaseName], most);
  return rows;
}

/// Of kBar letters, so that a column that is aligned to the right keeps it at the left.
std::string bar_text(double us, double most_us) {
  constexpr std::size_t kBar = 24;
  const double share = most_us > 0 ? std::fabs(us) / most_us : 0;
  std::string out(static_cast<std::size_t>(std::lround(kBar * share)), us < 0 ? '-' : '+');
  out.resize(kBar, ' ');
  return out;
}

/// The difference of two runs, stage by stage; its terms sum to that of the step.
void add_waterfall(Report& out, const RunComparison& found, const std::string& base,
                   const std::string& other) {
  if (found.stages.empty()) return;
  double most_us = 0;
  for (const StageDifference& part : found.stages) most_us = std::max(most_us, std::fabs(part.more_us()));
  const int digits = found.step.base_us < 10'000 ? 3 : 2;
  const auto ms = [&](double us) { return fmt::format("{:.{}f}", us * 1e-3, digits); };
  std::vector<TableRow> rows = {{"ms a " + found.per, base, other, other + " - " + base, ""}};
  const auto add = [&](const StageDifference& part, const std::string& bar) {
    rows.push_back({part.stage, ms(part.base_us), ms(part.other_us),
                    fmt::format("{:+.{}f}", part.more_us() * 1e-3, digits), bar});
  };
  for (const StageDifference& part : found.stages) add(part, bar_text(part.more_us(), most_us));
  add({found.per + " in all", found.step.base_us, found.step.other_us}, "");
  out.table(rows, 1);
}

void add_at(Report& out, const std::optional<LossesCompared::At>& at, const std::string& what,
            const std::string& base, const std::string& other) {
  if (!at) return;
  out.line(fmt::format("    {:<30} {:.4f} ({}), {:.4f} ({})", what, at->base, base, at->other, other));
}

void add_losses(Report& out, const RunComparison& found, const std::string& base, const std::string& other) {
  const LossesCompared& losses = found.losses;
  if (!losses.at_samples && !losses.at_time && !losses.time_to) return;
  out.line("  validation loss");
  if (losses.at_samples)
    add_at(out, losses.at_samples,
           "after " + human_count(std::llround(losses.at_samples->place)) + " samples", base, other);
  if (losses.at_time)
    add_at(out, losses.at_time, "after " + human_seconds(losses.at_time->place), base, other);
  if (losses.time_to) {
    const LossesCompared::At& to = *losses.time_to;
    out.line(fmt::format("    {:<30} {} ({}), {} ({})", fmt::format("{:.4f} is reached after", to.place),
                         human_seconds(to.base), base, human_seconds(to.other), other));
  }
}

Json at_json(const std::optional<LossesCompared::At>& at, const char* place, const char* value) {
  if (!at) return nullptr;
  return {{place, at->place},
          {std::string("base_") + value, at->base},
          {std::string("other_") + value, at->other}};
}

Json losses_json(const LossesCompared& losses) {
  return {{"parity", parity_name(losses.parity)},
          {"band", losses.band},
          {"values", losses.values},
          {"unequal_from_step", losses.unequal_from < 0 ? Json() : Json(losses.unequal_from)},
          {"largest_difference", losses.largest},
          {"at_equal_samples", at_json(losses.at_samples, "samples", "loss")},
          {"at_equal_time", at_json(losses.at_time, "seconds", "loss")},
          {"time_to_loss", at_json(losses.time_to, "loss", "seconds")}};
}

Json comparison_json(const RunComparison& found, const RunCase& base, const RunCase& other,
                     const std::string& sentence) {
  static constexpr std::array<const char*, 4> kKinds = {"none", "other programs", "straggler", "stage"};
  Json out = {{"base", base.folder.string()}, {"run", other.folder.string()}, {"per", found.per}};
  Json speed = Json::object();
  if (found.speed) {
    add_to(speed, *found.speed);
    speed["base_repeats"] = found.base_repeats;
    speed["other_repeats"] = found.other_repeats;
  }
  out["speed"] = found.speed ? speed : Json();
  if (!found.no_ratio.empty()) out["no_ratio"] = found.no_ratio;
  Json stages = Json::array();
  const auto times = [](const StageDifference& part) {
    return Json{{"stage", part.stage},
                {"base_us", part.base_us},
                {"other_us", part.other_us},
                {"difference_us", part.more_us()}};
  };
  for (const StageDifference& part : found.stages) stages.push_back(times(part));
  out["stages"] = stages;
  out["time"] = times(found.step);
  const Cause& cause = found.cause;
  out["cause"] = {{"kind", kKinds[static_cast<std::size_t>(cause.kind)]},
                  {"stage", cause.stage},
                  {"rank", cause.rank < 0 ? Json() : Json(cause.rank)},
                  {"difference_us", cause.more_us},
                  {"sure", cause.is_sure}};
  out["losses"] = losses_json(found.losses);
  out["sentence"] = sentence;
  return out;
}

Json case_json(const RunCase& one, const std::string& label) {
  Json out = {{"label", label}, {"run", one.folder.string()}, {"state", state_name(one.view().state)}};
  Json folders = Json::array();
  for (const auto& folder : one.folders) folders.push_back(folder.string());
  out["repeats"] = folders;
  out["lesson"] = one.view().lesson;
  out["provenance"] = one.view().provenance.empty() ? "measured here" : one.view().provenance;
  if (const Spread rate = rates(one.repeats); !rate.empty())
    out["samples_per_s"] = {{"median", rate.median()}, {"min", rate.least()}, {"max", rate.most()}};
  if (const double step_us = mean_step_us(one); step_us > 0) out["step_us"] = step_us;
  out["mfu"] = median_mfu(one) > 0 ? Json(median_mfu(one)) : Json();
  if (const double bytes = most_peak_bytes(one); bytes > 0) out["peak_bytes"] = bytes;
  if (const Spread losses = valid_losses(one); !losses.empty()) out["valid_loss"] = losses.median();
  out["processor_wait"] = one.view().summary.processor_wait;
  return out;
}

/// Letters of each of `values` values beside keys of so many letters.
std::size_t value_letters(std::size_t columns, std::size_t key, std::size_t values) {
  const std::size_t room = columns - std::min(columns, key + 2);
  return std::clamp(room / values - std::min<std::size_t>(room / values, 2), kLeastValue, kMostValue);
}

/// Keys that differ; the environment's apart.
void add_keys(Report& out, const Cases& cases, std::size_t columns) {
  std::vector<const ConfigText*> configs;
  for (const RunCase& one : cases) configs.push_back(&one.config);
  const std::size_t shown = std::min(cases.size(), kMostDetails);
  TableRow head = {"keys that differ"};
  for (std::size_t i = 0; i < shown; ++i) head.push_back(case_label(i));
  std::vector<TableRow> settings = {head}, environment = {head};
  environment.front().front() = "environment that differs";
  Json keys = Json::array(), places = Json::array();
  std::vector<KeyRow> differing = key_rows(configs);
  // A log of another program knows few keys: the others do not differ, they are not said.
  const bool with_logs =
      std::any_of(cases.begin(), cases.end(), [](const RunCase& one) { return !one.view().source.empty(); });
  std::erase_if(differing, [&](const KeyRow& row) {
    return !(with_logs ? row.two_values : row.differs) || row.is_label();
  });
  std::size_t longest = environment.front().front().size();
  for (const KeyRow& row : differing) longest = std::max(longest, row.key.size());
  const std::size_t most = value_letters(columns, longest, shown);
  for (const KeyRow& row : differing) {
    TableRow line = {row.is_environment() ? row.key.substr(row.key.find('.') + 1) : row.key};
    for (std::size_t i = 0; i < shown; ++i)
      line.push_back(row.values[i].empty() ? "-" : cut_in_middle(printable(row.values[i], kMostValue), most));
    (row.is_environment() ? environment : settings).push_back(line);
    (row.is_environment() ? places : keys).push_back({{"key", row.key}, {"values", row.values}});
  }
  const bool unknown =
      std::any_of(configs.begin(), configs.end(), [](auto* config) { return config->empty(); });
  if (unknown) out.line("  the settings of a run without run.toml are not known");
  if (settings.size() > 1) {
    out.table(settings, 1);
  } else if (!unknown) {
    out.line("  no key differs");
  }
  if (environment.size() > 1) out.table(environment, 1);
  out.json["keys"] = keys;
  out.json["environment"] = places;
}

/// What communication costs a step, where any of the runs is of several ranks.
void add_comm(Report& out, const Cases& cases) {
  std::vector<TableRow> rows = {{"", "a step"}};
  const TableRow heads = CommColumns::heads();
  rows.front().insert(rows.front().end(), heads.begin(), heads.end());
  Json figures = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::optional<CommColumns> comm = comm_columns(cases[i].repeats);
    figures.push_back(comm ? comm->json() : Json());
    if (!comm) continue;
    rows.push_back({case_label(i), "communication"});
    const TableRow cells = comm->cells();
    rows.back().insert(rows.back().end(), cells.begin(), cells.end());
  }
  if (rows.size() < 2) return;
  out.table(rows, 2);
  out.json["comm"] = figures;
}

}  // namespace

Report compare_report(const Cases& cases, std::size_t columns, std::size_t table) {
  Report out;
  const std::vector<RunComparison> found = compare_with_first(cases);
  std::vector<TableRow> scores = {
      {"", "run", "runs", "samples/s", "vs A", "ms a step", "MFU", "memory", "valid loss"}};
  Json runs = Json::array(), differences = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    scores.push_back(score_row(cases, i, i == 0 ? nullptr : &found[i - 1]));
    runs.push_back(case_json(cases[i], case_label(i)));
  }
  out.json = {{"runs", runs}};
  out.table(fitted(scores, table), 2);
  add_comm(out, cases);
  for (const std::string& warning : case_warnings(cases)) out.wrapped("! " + warning, columns);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string base = case_label(0), other = case_label(i + 1);
    const std::string sentence = comparison_sentence(found[i], base, other);
    out.line("");
    out.wrapped(sentence, columns);
    differences.push_back(comparison_json(found[i], cases.front(), cases[i + 1], sentence));
    if (i + 1 < kMostDetails) {
      add_waterfall(out, found[i], base, other);
      add_losses(out, found[i], base, other);
    }
    const std::string command = repeats_command(cases.front(), cases[i + 1], found[i]);
    if (!command.empty()) out.line("  next: " + command);
  }
  out.json["differences"] = differences;
  out.line("");
  add_keys(out, cases, table);
  if (cases.size() > kMostDetails)
    out.line(fmt::format("  stages and keys are those of the first {} runs; --json has all", kMostDetails));
  return out;
}

}  // namespace isobar
