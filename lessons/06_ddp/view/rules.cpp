// Rules of ranks: twice as many that gain nothing, the one that the others wait for, and how many devices one
// thread could launch the work of.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/text.h"
#include "course/rules/parts.h"
#include "log/run_files.h"

namespace isobar::lesson_06 {
namespace {

/// Why the pair is none; "" = it is.
std::string why_no_pair(const NamedRun& few, const NamedRun& many) {
  const std::int64_t less = few.view().summary.world, more = many.view().summary.world;
  if (more != 2 * less)
    return fmt::format("they have {} and {}, not twice as many", counted(less, "rank"), more);
  std::vector<std::string> also = keys_apart(few, many);
  std::erase(also, "run.ranks");
  return also.empty() ? "" : "they differ in " + joined(also) + " too";
}

Truth made_no_gain_truth(const RuleInput& input) {
  const std::vector<NamedRun> made = made_runs(input, 2);
  NamedRun few = made[0], many = made[1];
  if (few.view().summary.world > many.view().summary.world) std::swap(few, many);
  for (const NamedRun* const run : {&few, &many}) check_made(input, *run);
  Truth out;
  out.source = source_of(few);
  const Spread of_few = rates_of(few), of_many = rates_of(many);
  out.figures = {{"few_rate", figure_text(of_few.median())},
                 {"many_rate", figure_text(of_many.median())},
                 {"few_ranks", std::to_string(few.view().summary.world)},
                 {"many_ranks", std::to_string(many.view().summary.world)}};
  out.text = why_no_pair(few, many);
  if (!out.text.empty()) return out;
  check_timed(few);
  check_timed(many);
  const Compared compared = compare_runs(few, of_few, many, of_many);
  if (compared.direction != Direction::more) out.accepted = {"yes"};
  out.text = fmt::format("{} samples/s with {}, {} with {}: {}", out.figures["few_rate"],
                         counted(few.view().summary.world, "rank"), out.figures["many_rate"],
                         many.view().summary.world, ratio_sentence(compared));
  return out;
}

/// A measured run has it for each stage, a predicted one for the whole step.
double launching_us(const NamedRun& run) {
  if (run.view().provenance == "predicted") return sums_of(run, {"step_host_us"}).median();
  return sums_of(run, {"forward_host_us", "backward_host_us", "optimize_host_us", "replay_host_us"}).median();
}

Truth feedable_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const double host_us = launching_us(run);
  const double step_us = sums_of(run, {"step_us"}).median();
  if (!(host_us > 0)) throw Cannot{fmt::format("`{}` recorded no time of the host", run.name), run.name};
  const double devices = std::floor(step_us / host_us);
  Truth out;
  out.number = in_unit(input.question, Quantity::count, devices);
  out.low = std::max(1.0, devices - 1);
  out.high = devices + 1;
  out.figures = {
      {"value", figure_text(devices)}, {"step_ms", ms_text(step_us)}, {"host_ms", ms_text(host_us)}};
  out.text = fmt::format("the host works {} of {} ms a step: enough for {}", ms_text(host_us),
                         ms_text(step_us), counted(static_cast<std::int64_t>(devices), "device"));
  out.source = source_of(run);
  return out;
}

Truth straggler_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  std::map<int, std::size_t> times;  // by rank, -1 = none, in how many repeats
  const RanksView* shown = nullptr;
  for (const SteadyFigures& one : run.run->repeats) {
    if (!one.ranks || one.ranks->steps == 0) continue;
    ++times[one.ranks->straggler ? one.ranks->straggler->rank : -1];
    if (shown == nullptr) shown = &*one.ranks;
  }
  if (shown == nullptr)
    throw Cannot{fmt::format("`{}` is no run of several ranks whose steps can be compared", run.name),
                 run.name};
  int most = times.begin()->first;
  for (const auto& [rank, count] : times) {
    if (count > times[most]) most = rank;
  }
  const std::string key = most < 0 ? "none" : fmt::format("rank {}", most);
  Truth out;
  out.accepted = {key};
  const bool is_told = shown->straggler && shown->straggler->rank == most;
  out.figures = {{"straggler", key}, {"kept_ms", is_told ? ms_text(shown->straggler->kept_us) : "0"}};
  out.text = is_told    ? straggler_sentence(*shown)
             : most < 0 ? "no rank keeps the others waiting beyond the spread of the steps"
                        : fmt::format("{} keeps the others waiting in most of the runs", key);
  out.source = source_of(run);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"feedable",
   "devices that one thread could feed: the step over the host's time in it, give or take one",
   {number}, {"run"}, {}, feedable_truth, always_timed, check_unit<Quantity::count>},
  {"made_no_gain",
   "two runs of the learner's that differ in the ranks alone, doubled, and gain nothing",
   {make}, {}, {}, made_no_gain_truth},
  {"straggler",
   "the rank that the others wait for: rank 0, rank 1, ..., none",
   {choice}, {"run"}, {}, straggler_truth, always_timed},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_06
