// Samples a second of two runs: how many times as many, and in which direction.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct Speeds {
  NamedRun base, other;
  Compared compared;
  double base_rate = 0, other_rate = 0;
};

/// The fastest of the question's runs, `but` left out.
NamedRun fastest_but(const RuleInput& input, const std::string& but) {
  NamedRun out;
  for (const NeededRun& wanted : input.question.runs) {
    if (wanted.name == but) continue;
    const NamedRun run = timed_run(input, wanted.name);
    if (out.run == nullptr || rates_of(run).median() > rates_of(out).median()) out = run;
  }
  if (out.run == nullptr) wrong_question(input, "there is no run to be the best", "it needs two or more");
  return out;
}

Speeds speeds_of(const RuleInput& input) {
  const std::string base = input.argument("base");
  Speeds out;
  out.other = timed_run(input, input.argument("other"));
  out.base = base == "best" && input.question.run(base) == nullptr ? fastest_but(input, out.other.name)
                                                                   : timed_run(input, base);
  const Spread one = rates_of(out.base), two = rates_of(out.other);
  out.compared = compare_runs(out.base, one, out.other, two);
  out.base_rate = one.median();
  out.other_rate = two.median();
  return out;
}

/// What lies inside the spread is called the same, and gets no factor.
double ratio_of(const Compared& compared) { return compared.is_same() ? 1 : compared.ratio; }

Truth truth_of_speeds(const Speeds& speeds) {
  const Compared& compared = speeds.compared;
  Truth out;
  out.text = fmt::format("`{}` {} samples/s, `{}` {}: {}", speeds.base.name, figure_text(speeds.base_rate),
                         speeds.other.name, figure_text(speeds.other_rate), ratio_sentence(compared));
  out.figures = {{"base", speeds.base.name},
                 {"ratio", fmt::format("{:.2f}", ratio_of(compared))},
                 {"low", fmt::format("{:.2f}", compared.low)},
                 {"high", fmt::format("{:.2f}", compared.high)},
                 {"base_rate", figure_text(speeds.base_rate)},
                 {"other_rate", figure_text(speeds.other_rate)}};
  out.source = source_of(speeds.base);
  return out;
}

}  // namespace

Truth speed_ratio_truth(const RuleInput& input) {
  const Speeds speeds = speeds_of(input);
  Truth out = truth_of_speeds(speeds);
  const double ratio = in_unit(input.question, Quantity::ratio, ratio_of(speeds.compared));
  set_interval(out, ratio, std::min(ratio, speeds.compared.low), std::max(ratio, speeds.compared.high));
  return out;
}

Truth speed_direction_truth(const RuleInput& input) {
  const Speeds speeds = speeds_of(input);
  Truth out = truth_of_speeds(speeds);
  out.accepted = {direction_word(speeds.compared)};
  return out;
}

Truth efficiency_truth(const RuleInput& input) {
  const Speeds speeds = speeds_of(input);
  const auto ranks = [](const NamedRun& run) {
    return static_cast<double>(std::max<std::int64_t>(1, run.view().summary.world));
  };
  const double more = ranks(speeds.other) / ranks(speeds.base);
  const Compared& compared = speeds.compared;
  Truth out;
  const auto percent = [&](double ratio) { return in_unit(input.question, Quantity::share, ratio / more); };
  set_interval(out, percent(compared.ratio), percent(compared.low), percent(compared.high));
  out.text = fmt::format("{} samples/s a rank in `{}`, {} in `{}`: {:.0f} %",
                         figure_text(speeds.base_rate / ranks(speeds.base)), speeds.base.name,
                         figure_text(speeds.other_rate / ranks(speeds.other)), speeds.other.name,
                         100 * compared.ratio / more);
  out.figures = {{"efficiency", fmt::format("{:.0f}", 100 * compared.ratio / more)},
                 {"low", fmt::format("{:.0f}", 100 * compared.low / more)},
                 {"high", fmt::format("{:.0f}", 100 * compared.high / more)},
                 {"base_rate", figure_text(speeds.base_rate)},
                 {"other_rate", figure_text(speeds.other_rate)},
                 {"base_ranks", figure_text(ranks(speeds.base))},
                 {"other_ranks", figure_text(ranks(speeds.other))}};
  out.source = source_of(speeds.base);
  return out;
}

}  // namespace isobar
