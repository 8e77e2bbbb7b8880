// Rules of compressed gradients: what is sent, whether it pays and up to which link, why not, and what
// becomes of the error.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "11_compression/view/slow_terms.h"
#include "analyse/run_prediction.h"
#include "core/number_text.h"
#include "course/rules/parts.h"
#include "formula/compressed_step.h"
#include "formula/model_shape.h"

namespace isobar::lesson_11 {
namespace {

std::string mb_text(double bytes) { return figure_text(bytes * 1e-6); }

std::vector<GradientMatrix> gradients_of(const LessonInfo& lesson, const Config& config) {
  return gradient_matrices(vit_shape(config), config.fusion.qkv && honours(lesson, "fusion.qkv"));
}

/// The messages of a configuration, and of the same without compression.
struct Sent {
  std::vector<StepMessages> turns, plain;
};

Sent sent_by(const LessonSettings& settings, bool is_flat) {
  std::vector<GradientMatrix> gradients = gradients_of(settings.lesson, settings.config);
  if (is_flat) gradients = with_flat_positions(std::move(gradients));
  CommConfig plain = settings.config.comm;
  plain.compress = CompressKind::none;
  return {planned_messages(gradients, settings.config.comm), planned_messages(gradients, plain)};
}

bool asks_bytes(const Question& question) { return question.unit == "MB"; }

Truth compression_ratio_truth(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  if (settings.config.comm.sync != SyncKind::buckets || settings.config.comm.average == Averaged::weights)
    wrong_question(input, "only buckets of gradients are compressed",
                   "comm.sync=buckets, comm.average=gradients");
  const Sent sent = sent_by(settings, input.argument("flat") == "true");
  const double bytes = bytes_a_step(sent.turns), plain = bytes_a_step(sent.plain);
  Truth out;
  out.number = out.low = out.high = asks_bytes(input.question)
                                        ? in_unit(input.question, Quantity::bytes, bytes)
                                        : in_unit(input.question, Quantity::ratio, plain / bytes);
  out.figures = {{"value", figure_text(out.number)},
                 {"mb", mb_text(bytes)},
                 {"plain_mb", mb_text(plain)},
                 {"ratio", figure_text(plain / bytes)},
                 {"calls", figure_text(calls_a_step(sent.turns))},
                 {"plain_calls", figure_text(calls_a_step(sent.plain))}};
  out.text = fmt::format("{} MB in {} all-reduces a step, {} MB in {} without compression", out.figures["mb"],
                         out.figures["calls"], out.figures["plain_mb"], out.figures["plain_calls"]);
  out.source = "by formula";
  return out;
}

void check_compression_ratio(const Question& question) {
  in_unit(question, asks_bytes(question) ? Quantity::bytes : Quantity::ratio, 0);
}

/// A run without compression and one with, on one link.
struct TwoRuns {
  NamedRun plain = {}, other = {};
  int ranks = 1;
  RunTimes plain_times = {}, other_times = {};
  CallCost link = {};
  double latency_us = 0;  ///< each message has it
};

double setting_of(const NamedRun& run, const char* key) {
  return number_of<double>(value_in(run.run->config, key)).value_or(0);
}

/// The emulated link, else what the ranks measured at the start.
CallCost link_of_run(const NamedRun& run, int ranks) {
  const double latency_us = setting_of(run, "comm.link.latency_us"),
               gbit_per_s = setting_of(run, "comm.link.gbit_per_s");
  const double messages = static_cast<double>(ring_messages(ranks));
  if (latency_us > 0 || gbit_per_s > 0)
    return {.call_us = messages * latency_us, .bytes_per_us = link_of(0, gbit_per_s).bytes_per_us};
  const std::optional<MeasuredLink>& probe = run.view().probe;
  if (!probe || !(probe->busbw_gb_per_s > 0))
    throw Cannot{
        fmt::format("the ranks of `{}` did not measure their link, which comm.probe asks for", run.name),
        run.name};
  return {.call_us = probe->latency_us, .bytes_per_us = probe->busbw_gb_per_s * 1e3};
}

void check_times(const NamedRun& run) {
  if (run.view().summary.world < 2) throw Cannot{"`" + run.name + "` is a run of one rank", run.name};
  for (const SteadyFigures& one : run.run->repeats) {
    if (!one.mean("comm_total_us"))
      throw Cannot{fmt::format("`{}` did not record how long collectives were under way", run.name),
                   run.name};
  }
}

TwoRuns two_runs(const RuleInput& input) {
  const auto [base, other] = timed_pair(input);
  TwoRuns out{.plain = base, .other = other};
  for (const NamedRun* const run : {&out.plain, &out.other}) check_times(*run);
  out.ranks = static_cast<int>(out.plain.view().summary.world);
  for (const char* const key : {"run.ranks", "comm.link.latency_us", "comm.link.gbit_per_s"}) {
    if (setting_of(out.plain, key) != setting_of(out.other, key))
      throw Cannot{fmt::format("`{}` and `{}` differ in {}", out.plain.name, out.other.name, key),
                   out.other.name};
  }
  out.plain_times = median_of(out.plain.run->repeats);
  out.other_times = median_of(out.other.run->repeats);
  out.link = link_of_run(out.plain, out.ranks);
  out.latency_us = out.link.call_us / static_cast<double>(ring_messages(out.ranks));
  return out;
}

void add_two_steps(const TwoRuns& two, Truth& out) {
  out.figures = {{"base_ms", ms_text(two.plain_times.step_us)},
                 {"other_ms", ms_text(two.other_times.step_us)},
                 {"base_mb", mb_text(two.plain_times.wire_bytes)},
                 {"other_mb", mb_text(two.other_times.wire_bytes)},
                 {"ranks", std::to_string(two.ranks)},
                 {"latency_us", figure_text(two.latency_us)},
                 {"compress_ms", ms_text(two.other_times.arithmetic_us)}};
  out.source = source_of(two.plain);
}

/// Means of what both runs compute besides compression, which is equal work; waiting for ranks that came
/// later, too.
OverlappedStep common_work(const RunTimes& one, const RunTimes& other) {
  const auto rest_us = [](const RunTimes& times) {
    return times.computing_us() - times.forward_us - times.backward_us + times.waited_us;
  };
  return {.forward_us = (one.forward_us + other.forward_us) / 2,
          .backward_us = (one.backward_us + other.backward_us) / 2,
          .optimize_us = (rest_us(one) + rest_us(other)) / 2};
}

/// "both take as long at 3.2 Gb/s", predicted from what they measured; "" where nothing is predicted.
std::string crossing_text(const TwoRuns& two, Truth& out) {
  const auto step_of = [&](const NamedRun& run, const RunTimes& times) -> std::optional<SchemeStep> {
    const std::optional<KnownSettings> settings = settings_of(run.run->folder, run.view().lesson);
    if (!settings) return std::nullopt;  // they are of another version
    return SchemeStep{
        .computing = common_work(two.plain_times, two.other_times),
        .arithmetic_us = times.arithmetic_us,
        .turns = planned_messages(gradients_of(settings->lesson, settings->config), settings->config.comm)};
  };
  const auto plain = step_of(two.plain, two.plain_times), other = step_of(two.other, two.other_times);
  const std::optional<double> found =
      plain && other ? crossing_gbit_per_s(*plain, *other, two.latency_us, two.ranks) : std::nullopt;
  out.figures["turn"] = found ? figure_text(*found) : "-";
  return found ? fmt::format("; by their terms both take as long at {} Gb/s", out.figures["turn"]) : "";
}

Truth pays_truth(const RuleInput& input) {
  const TwoRuns two = two_runs(input);
  const Spread base = rates_of(two.plain), other = rates_of(two.other);
  const Compared found = compare_runs(two.plain, base, two.other, other);
  Truth out;
  add_two_steps(two, out);
  out.accepted = {found.is_same() ? "same" : found.direction == Direction::more ? "faster" : "slower"};
  out.figures["gain_pct"] = percent_text(other.median() / base.median() - 1);
  out.figures["base_value"] = number_text(Quantity::rate, base.median());
  out.figures["other_value"] = number_text(Quantity::rate, other.median());
  out.text = fmt::format("{} samples/s in `{}`, {} in `{}`", out.figures["base_value"], two.plain.name,
                         out.figures["other_value"], two.other.name) +
             crossing_text(two, out);
  return out;
}

struct NamedTerm {
  const char* key;
  double SlowTerms::*us;
};
constexpr std::array<NamedTerm, 4> kTerms = {{{"extra_calls", &SlowTerms::extra_calls_us},
                                              {"lost_overlap", &SlowTerms::lost_overlap_us},
                                              {"contention", &SlowTerms::contention_us},
                                              {"arithmetic", &SlowTerms::arithmetic_us}}};

const NamedTerm& largest_of(const SlowTerms& terms) {
  return *std::ranges::max_element(kTerms, {}, [&](const NamedTerm& one) { return terms.*one.us; });
}

/// Each repeat of one beside each of the other.
std::vector<SlowTerms> all_terms(const TwoRuns& two) {
  std::vector<SlowTerms> out;
  for (const SteadyFigures& plain : two.plain.run->repeats) {
    for (const SteadyFigures& other : two.other.run->repeats)
      out.push_back(slow_terms(times_of(plain), times_of(other), two.link));
  }
  return out;
}

/// The largest term of the medians, and what is as large where the repeats do not tell: largest in a third of
/// the pairs.
Truth slow_reason_truth(const RuleInput& input) {
  constexpr double kTold = 1.0 / 3;
  const TwoRuns two = two_runs(input);
  compare_runs(two.plain, rates_of(two.plain), two.other, rates_of(two.other));  // refuses too few repeats
  const std::vector<SlowTerms> pairs = all_terms(two);
  const SlowTerms terms = slow_terms(two.plain_times, two.other_times, two.link);
  const NamedTerm& largest = largest_of(terms);
  Truth out;
  add_two_steps(two, out);
  for (const NamedTerm& term : kTerms) {
    const auto times =
        std::ranges::count_if(pairs, [&](const SlowTerms& one) { return &largest_of(one) == &term; });
    if (&term == &largest || static_cast<double>(times) >= kTold * static_cast<double>(pairs.size()))
      out.accepted.push_back(term.key);
    out.figures[std::string(term.key) + "_ms"] = ms_text(terms.*term.us);
  }
  const double difference_us = two.other_times.step_us - two.plain_times.step_us;
  out.figures["largest"] = largest.key;
  out.figures["bytes_ms"] = ms_text(terms.bytes_us);
  out.figures["saved_ms"] = ms_text(-terms.bytes_us);
  out.figures["above_ms"] = ms_text(terms.above_formula_us);
  out.figures["sum_ms"] = ms_text(terms.sum_us());
  out.figures["difference_ms"] = ms_text(difference_us);
  out.text = fmt::format(
      "{:+.3g} ms a step: bytes {}, extra calls {}, lost overlap {}, contention {}, arithmetic {} ms",
      difference_us * 1e-3, out.figures["bytes_ms"], out.figures["extra_calls_ms"],
      out.figures["lost_overlap_ms"], out.figures["contention_ms"], out.figures["arithmetic_ms"]);
  return out;
}

void check_slow_reason(const Question& question) {
  std::vector<std::string> keys;
  for (const NamedTerm& term : kTerms) keys.emplace_back(term.key);
  check_choice_keys(question, keys);
}

/// The first and the last value of a norm.
struct TwoNorms {
  double first = 0, last = 0;

  double times() const { return last / first; }
  bool grows() const { return times() > kGrows; }
  static constexpr double kGrows = 1.5;
};

TwoNorms norms_of(const NamedRun& run, const char* field) {
  const CurveRef norms = run.run->series.find(std::string("train/") + field);
  if (!norms || norms.curve->y.size() < 2)
    throw Cannot{
        fmt::format("`{}` reports its {} fewer than twice, which comm.error_every asks for", run.name, field),
        run.name};
  const TwoNorms out{norms.curve->y[0], norms.curve->y.back()};
  if (!(out.first > 0) || !std::isfinite(out.last))
    throw Cannot{fmt::format("the {} of `{}` is no length to compare with", field, run.name), run.name};
  return out;
}

Truth error_growth_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const TwoNorms own = norms_of(run, "error_norm"), mean = norms_of(run, "mean_error_norm");
  Truth out;
  out.accepted = {own.grows() ? (mean.grows() ? "both" : "own") : mean.grows() ? "mean" : "neither"};
  const auto text = [](double value) { return fmt::format("{:.3g}", value); };
  out.figures = {{"own_first", text(own.first)},
                 {"own_last", text(own.last)},
                 {"mean_first", text(mean.first)},
                 {"mean_last", text(mean.last)},
                 {"own_times", text(own.times())},
                 {"mean_times", text(mean.times())},
                 {"steps", std::to_string(run.view().summary.steps)}};
  out.text = fmt::format("a rank's own error goes from {} to {}, the mean over ranks from {} to {}",
                         out.figures["own_first"], out.figures["own_last"], out.figures["mean_first"],
                         out.figures["mean_last"]);
  out.source = source_of(run);
  return out;
}

Truth losses_apart_truth(const RuleInput& input) {
  constexpr double kWithin = 1e-4;  // sums in another order
  const auto [base, other] = ended_pair(input);
  const LossesCompared losses = losses_between(base, other);
  Truth out;
  out.accepted = {losses.largest <= number_argument(input, "within", kWithin) ? "equal" : "apart"};
  out.figures = {{"apart", fmt::format("{:.2g}", losses.largest)},
                 {"apart_pct", percent_text(losses.largest)},
                 {"values", std::to_string(losses.values)},
                 {"unequal_from", std::to_string(losses.unequal_from)},
                 {"base_loss", fmt::format("{:.4g}", base.view().summary.last_loss)},
                 {"other_loss", fmt::format("{:.4g}", other.view().summary.last_loss)}};
  out.text = losses.text();
  out.source = source_of(base);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"compression_ratio",
   "bytes a step without compression over those with the settings `set`, by formula; in MB what is sent. `flat`: "
   "positions are one row",
   {number}, {"preset"}, {"set", "flat"}, compression_ratio_truth, nullptr, check_compression_ratio},
  {"error_growth",
   "which norm of the error grows in a run with comm.error_every: own (a rank's), mean (over ranks), both, neither",
   {choice}, {"run"}, {}, error_growth_truth},
  {"losses_apart",
   "whether the losses of two runs are equal but for rounding (`within` 1e-4): equal, apart",
   {choice}, {"base", "other"}, {"within"}, losses_apart_truth},
  {"pays",
   "whether `other` is quicker than `base`, which sends whole gradients: faster, slower, same",
   {choice}, {"base", "other"}, {}, pays_truth, always_timed},
  {"slow_reason",
   "the term that makes the step of `other` longer by most: extra_calls, lost_overlap, contention, arithmetic",
   {choice}, {"base", "other"}, {}, slow_reason_truth, always_timed, check_slow_reason},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_11
