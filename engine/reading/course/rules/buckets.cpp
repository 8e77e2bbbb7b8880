// What the size and order of buckets do to communication: overlap, the last bucket, latency or bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/verdict.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Overlaps that lie nearer to each other are the same: scheduling alone moves them that far.
constexpr double kSmallestOverlap = 0.05;

Spread shares_of(const NamedRun& run, double CommFigures::*figure, const char* what) {
  Spread out =
      figures_of(run, [&](const SteadyFigures& one) { return one.ranks ? one.ranks->comm.*figure : -1; });
  if (out.empty())
    throw Cannot{fmt::format("`{}` traced no {}: run.trace_steps says how many steps are", run.name, what),
                 run.name};
  return out;
}

/// compare() takes nothing else.
Spread above_zero(const Spread& shares) {
  std::vector<double> out;
  for (const double share : shares.values) out.push_back(std::max(share, 1e-6));
  return Spread(out);
}

}  // namespace

Truth overlap_direction_truth(const RuleInput& input) {
  const NamedRun base = timed_run(input, input.argument("base"));
  const NamedRun other = timed_run(input, input.argument("other"));
  const Spread one = shares_of(base, &CommFigures::overlap, "communication between ranks");
  const Spread two = shares_of(other, &CommFigures::overlap, "communication between ranks");
  const Compared compared = compare_runs(base, above_zero(one), other, above_zero(two));
  const bool is_same = compared.is_same() || std::fabs(two.median() - one.median()) < kSmallestOverlap;
  Truth out;
  out.accepted = {is_same ? "same" : direction_word(compared)};
  out.figures = {{"base_overlap", percent_text(one.median())}, {"other_overlap", percent_text(two.median())}};
  out.text = fmt::format("{} % of the communication goes on beside computing in `{}`, {} % in `{}`{}",
                         out.figures["base_overlap"], base.name, out.figures["other_overlap"], other.name,
                         is_same ? ": the same" : "");
  out.source = source_of(base);
  return out;
}

Truth last_bucket_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const Spread shares = shares_of(run, &CommFigures::last_bucket, "bucket that was exposed");
  const Spread exposed = shares_of(run, &CommFigures::exposed_us, "communication between ranks");
  Truth out = truth_of(input.question, Quantity::share, shares);
  out.figures = {{"share", percent_text(shares.median())}, {"exposed_ms", ms_text(exposed.median())}};
  out.text = fmt::format("{} % of the exposed communication is the last bucket", out.figures["share"]);
  out.source = source_of(run);
  return out;
}

Truth link_bound_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const auto& repeats = run.run->repeats;
  const auto message_of = [](const SteadyFigures& one) {
    return one.ranks ? mean_message(*one.ranks) : std::nullopt;
  };
  const Spread shares = figures_of(run, [&](const SteadyFigures& one) {
    const std::optional<MeanMessage> message = message_of(one);
    return message ? message->latency_share() : -1;
  });
  if (shares.empty())
    throw Cannot{fmt::format("the ranks of `{}` did not measure their link, or sent nothing", run.name),
                 run.name};
  const auto shown = std::find_if(repeats.begin(), repeats.end(),
                                  [&](const SteadyFigures& one) { return message_of(one).has_value(); });
  const MeanMessage message = *message_of(*shown);
  Truth out = truth_of(input.question, Quantity::share, shares);
  if (input.question.kind == AnswerKind::choice)
    out.accepted = {shares.median() > 0.5 ? "latency" : "bandwidth"};
  out.figures = {{"latency_share", percent_text(shares.median())},
                 {"latency_ms", ms_text(message.latency_us)},
                 {"moving_ms", ms_text(message.moving_us)},
                 {"kb", figure_text(message.bytes * 1e-3)}};
  out.text = fmt::format(
      "of an all-reduce in which a rank sends {} kB, {} ms are latency and {} ms bandwidth: {} % "
      "latency",
      out.figures["kb"], out.figures["latency_ms"], out.figures["moving_ms"], out.figures["latency_share"]);
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
