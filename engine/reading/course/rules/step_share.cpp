// What part of a step goes into some of its fields, and how that part changes from one run to another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Shares that lie nearer to each other are the same: no plot of a step shows a hundredth of it.
constexpr double kSmallestShare = 0.01;

Spread shares_of(const NamedRun& run, const std::vector<std::string>& fields, const std::string& of) {
  if (!(sums_of(run, {of}).least() > 0))
    throw Cannot{fmt::format("`{}` recorded no time of {}", run.name, of), run.name};
  sums_of(run, fields);  // says which field is not there
  return figures_of(run, [&](const SteadyFigures& one) {
    double sum = 0;
    for (const std::string& field : fields) sum += std::max(0.0, one.mean(field));
    return sum / one.mean(of);
  });
}

}  // namespace

Truth share_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const std::vector<std::string> fields = input.arguments("fields");
  const std::string of = input.argument("of", "step_us");
  const Spread shares = shares_of(run, fields, of);
  const double part_us = sums_of(run, fields).median(), whole_us = sums_of(run, {of}).median();
  Truth out = truth_of(input.question, Quantity::share, shares);
  out.text = fmt::format("{} of {} ms a step: {} %", ms_text(part_us), ms_text(whole_us),
                         percent_text(shares.median()));
  out.figures = {{"share", percent_text(shares.median())},
                 {"part_ms", ms_text(part_us)},
                 {"whole_ms", ms_text(whole_us)}};
  out.source = source_of(run);
  return out;
}

Truth share_direction_truth(const RuleInput& input) {
  const NamedRun base = timed_run(input, input.argument("base"));
  const NamedRun other = timed_run(input, input.argument("other"));
  const std::vector<std::string> fields = input.arguments("fields");
  const auto shares = [&](const NamedRun& run) {
    const Spread found = shares_of(run, fields, "step_us");
    std::vector<double> above_zero;  // compare() takes nothing else
    for (const double share : found.values) above_zero.push_back(std::max(share, 1e-6));
    return Spread(above_zero);
  };
  const Spread one = shares(base), two = shares(other);
  const Compared compared = compare_runs(base, one, other, two);
  const bool is_same = compared.is_same() || std::fabs(two.median() - one.median()) < kSmallestShare;
  Truth out;
  out.accepted = {is_same ? "same" : direction_word(compared)};
  out.figures = {{"base_share", percent_text(one.median())}, {"other_share", percent_text(two.median())}};
  out.text = fmt::format("{} % of a step in `{}`, {} % in `{}`{}", out.figures["base_share"], base.name,
                         out.figures["other_share"], other.name, is_same ? ": the same" : "");
  out.source = source_of(base);
  return out;
}

}  // namespace isobar
