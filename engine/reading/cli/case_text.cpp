#include "cli/case_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyse/case_tables.h"
#include "analyse/case_warnings.h"
#include "analyse/figure.h"
#include "analyse/run_prediction.h"
#include "config/lesson.h"
#include "core/cpu_instructions.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "formula/model_shape.h"

namespace isobar {

namespace {

using Cases = std::vector<RunCase>;

constexpr std::size_t kMostDetails = 8;  // with more runs only the sentences

/// A bar of kBar letters, so that a column that is aligned to the right keeps it at the left.
std::string bar_text(double us, double most_us) {
  constexpr std::size_t kBar = 24;
  const double share = most_us > 0 ? std::fabs(us) / most_us : 0;
  std::string out(static_cast<std::size_t>(std::lround(kBar * share)), us < 0 ? '-' : '+');
  out.resize(kBar, ' ');
  return out;
}

/// The stages, each with a bar as long as its part of the difference.
Table waterfall(const RunComparison& found, const std::string& base, const std::string& other) {
  Table out = stages_table(found, base, other);
  double most_us = 0;
  for (const StageDifference& part : found.stages) most_us = std::max(most_us, std::fabs(part.more_us()));
  out.columns.push_back("");
  for (std::size_t i = 0; i < out.rows.size(); ++i)
    out.rows[i].push_back(i < found.stages.size() ? bar_text(found.stages[i].more_us(), most_us) : "");
  return out;
}

/// Null where the kernel did not report it.
Json wait_json(const RunSummary& summary) {
  return summary.processor_wait >= 0 ? Json(summary.processor_wait) : Json();
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
  Json& speed = out["speed"];
  if (found.speed) {
    add_to(speed, *found.speed);
    add_members(speed, ISOBAR_NAMED(found.base_repeats, found.other_repeats));
  }
  if (!found.no_ratio.empty()) out["no_ratio"] = found.no_ratio;
  const auto times = [](const StageDifference& part) {
    const double difference_us = part.more_us();
    return ISOBAR_NAMED(part.stage, part.base_us, part.other_us, difference_us);
  };
  out["stages"] = json_list(found.stages, times);
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
  out["repeats"] = json_list(one.folders, [](const auto& folder) { return folder.string(); });
  out["lesson"] = one.view().lesson;
  out["provenance"] = one.view().provenance.empty() ? "measured here" : one.view().provenance;
  add_figures(out, FigureTable::runs, one.repeats);
  out["processor_wait"] = wait_json(one.view().summary);
  return out;
}

/// What communication costs a case, null where its ranks do not talk.
Json comm_json(const RunCase& one) {
  Json out;
  if (has_comm(one.repeats)) add_figures(out, FigureTable::comm, one.repeats);
  return out;
}

void add_keys(Report& out, const Cases& cases, std::size_t columns) {
  const std::vector<KeyRow> keys = differing_keys(cases);
  const Table settings = keys_table(keys, /*environment=*/false, kMostDetails);
  const bool unknown = some_settings_unknown(cases);
  if (unknown) out.line("  the settings of a run without run.toml are not known");
  if (settings.empty() && !unknown) out.line("  no key differs");
  out.table(settings, columns);
  out.table(keys_table(keys, /*environment=*/true, kMostDetails), columns);
  out.json["keys"] = out.json["environment"] = Json::array();
  for (const KeyRow& row : keys)
    out.json[row.is_environment() ? "environment" : "keys"].push_back(
        {{"key", row.key}, {"values", row.values}});
}

/// What its folder does not report of itself.
RunFacts facts_of(const RunCase& run) {
  RunFacts out;
  const std::filesystem::path home = project_home();
  const bool has_gpu = has_nvidia_driver();
  for (const std::string& name : lesson_names(home)) {
    const LessonInfo lesson = read_lesson(home, name);
    if (has_gpu || lesson.needs != "cuda") out.lessons[name] = lesson.helps;
  }
  out.computes_16_bit = has_gpu || cpu_instructions().multiplies_bf16();
  if (const std::optional<KnownSettings> settings = settings_of(run.folder, run.view().lesson)) {
    out.honours = settings->lesson.honours;
    out.attention_flops = attention_flops(settings->config);
    if (const std::optional<MachineRates> rates = rates_behind(run.config))
      out.memory_bytes_per_s = memory_rate(run.config, *rates);
  }
  return out;
}

}  // namespace

Report compare_report(const Cases& cases, std::size_t columns, std::size_t table) {
  Report out;
  const std::vector<RunComparison> found = compare_with_first(cases);
  Json runs = Json::array(), differences = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) runs.push_back(case_json(cases[i], case_label(i)));
  out.json = {{"runs", runs}};
  out.table(cases_table(cases, found), table);
  if (const Table comm = comm_table(cases); !comm.empty()) {
    out.table(comm, table);
    out.json["comm"] = json_list(cases, comm_json);
  }
  for (const std::string& warning : case_warnings(cases)) out.wrapped("! " + warning, columns);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string base = case_label(0), other = case_label(i + 1);
    const std::string sentence = comparison_sentence(found[i], base, other);
    out.line("");
    out.wrapped(sentence, columns);
    differences.push_back(comparison_json(found[i], cases.front(), cases[i + 1], sentence));
    if (i + 1 < kMostDetails) {
      out.table(waterfall(found[i], base, other), table);
      out.table(losses_table(found[i], base, other), table);
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

RunVerdict verdict_of(const RunCase& run) {
  const RunFacts facts = facts_of(run);
  return judge_run(run, find_quartet(run, facts), facts);
}

void add_remark(Report& out, const std::string& notice, const std::string& next, std::size_t columns) {
  out.headed("notice", notice, columns);
  if (next.starts_with("./isobar")) return out.line("  try        " + next);  // to be copied
  const std::size_t command = std::min(next.find(": ./isobar"), next.size());
  out.headed("try", next.substr(0, command), columns);
  if (command < next.size()) out.line("             " + next.substr(command + 2));
}

Report verdict_report(const RunCase& run, const RunVerdict& verdict, std::size_t columns) {
  Report out;
  const RunView& view = run.view();
  const auto runs = static_cast<std::int64_t>(run.repeats.size());
  out.line(fmt::format("{}  {}{}", printable(run.folder.filename().string()), state_name(view.state),
                       runs > 1 ? ", with " + counted(runs - 1, "repeat") : ""));
  for (const std::string& warning : verdict.warnings) out.headed("!", warning, columns);
  out.headed("verdict", verdict_sentence(verdict), columns);
  if (verdict.is_known && verdict.verdict.bound != Bound::compute) {  // which reports it itself
    const double step_us = means(run.repeats, "step_us").median();
    out.headed("a step", fmt::format("{:.1f} ms: {}", step_us * 1e-3, verdict.parts.text(7)), columns);
  }
  if (verdict.of_quartet) out.headed("", "(by its quartet)", columns);
  for (const std::string& line : verdict.verdict.evidence) out.headed("", line, columns);
  add_remark(out, verdict.notice, verdict.next, columns);

  out.json = {{"run", run.folder.string()},
              {"state", state_name(view.state)},
              {"repeats", runs - 1},
              {"warnings", verdict.warnings},
              {"bound", verdict.is_known ? Json(bound_name(verdict.verdict.bound)) : Json()},
              {"share", number_or_null(verdict.share)},
              {"by_quartet", verdict.of_quartet},
              {"straggler", verdict.verdict.straggler < 0 ? Json() : Json(verdict.verdict.straggler)},
              {"sentence", verdict_sentence(verdict)},
              {"evidence", verdict.verdict.evidence}};
  Json& parts = out.json["parts"];
  for (std::size_t i = 0; verdict.is_known && i < kPartNames.size(); ++i)
    parts[kPartNames[i]] = verdict.parts.shares[i];
  const Roofline& roofline = verdict.roofline;
  out.json["roofline"] = {{"flops", number_or_null(roofline.flops)},
                          {"attention_share", roofline.attention_share},
                          {"arithmetic_us", number_or_null(roofline.arithmetic_us)},
                          {"moved_bytes", number_or_null(roofline.moved_bytes)},
                          {"memory_us", number_or_null(roofline.memory_us)},
                          {"computing_us", number_or_null(roofline.computing_us)}};
  out.json["processor_wait"] = wait_json(view.summary);
  add_members(out.json, ISOBAR_NAMED(verdict.notice, verdict.next));
  return out;
}

}  // namespace isobar
