// Paths of lesson 00: how rough they are, how soon they come down, how far their gradients stray, and which
// learning rate they bear.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Values that lie nearer to the best are as good: a step more or less is no difference.
constexpr double kAsGoodPath = 0.05;
/// A gradient that strays less than this many times as far has less noise; below it the two are equal.
constexpr double kClearlyLess = 1.5;
constexpr const char* kPathMeasures[] = {"turn", "samples", "steps"};

struct WalkedPath {
  NamedRun run;
  double turn = 0;
  double steps = 0;    ///< until the loss is near its least; infinity = never
  double samples = 0;  ///< in these steps

  double of(const std::string& what) const {
    return what == "turn" ? turn : what == "samples" ? samples : steps;
  }
};

WalkedPath walked_path(const RuleInput& input, const NamedRun& run, double factor) {
  const Descent descent = descent_of(input, run);
  const std::vector<Line> path = descent.ranks.front().path();
  const std::int64_t steps = steps_until(descent.points, path, factor);
  WalkedPath out{.run = run, .turn = mean_turn(path)};
  out.steps = steps < 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(steps);
  out.samples = out.steps * static_cast<double>(descent.batch());
  return out;
}

std::string until_text(double value) {
  return std::isfinite(value) ? human_count(std::llround(value)) : "never";
}

/// How far the gradients of the updates lie from that of all points, as a share of how far single points'
/// gradients do at the same place: root of the mean square over the steps.
double stray_of(const RuleInput& input, const NamedRun& run) {
  const Descent descent = descent_of(input, run);
  const LinePoints& points = descent.points;
  std::vector<std::int64_t> all(static_cast<std::size_t>(points.size()));
  std::iota(all.begin(), all.end(), 0);
  double sum = 0;
  for (std::size_t step = 0; step < descent.steps(); ++step) {
    const Line& line = descent.ranks.front().before(step);
    const Line whole = line_gradient(points, line, all);
    const auto distance = [&](const Line& gradient) {
      return square(gradient.slope - whole.slope) + square(gradient.intercept - whole.intercept);
    };
    double single = 0;
    for (const std::int64_t i : all) single += distance(line_gradient(points, line, {&i, 1}));
    sum += distance(descent.ranks.front().steps[step].taken) / (single / static_cast<double>(all.size()));
  }
  const double out = std::sqrt(sum / static_cast<double>(descent.steps()));
  if (!std::isfinite(out))
    throw Cannot{fmt::format("the path of `{}` leaves all bounds", run.name), run.name};
  return out;
}

/// A run with all points in each step: its rate, and its loss before and after.
struct FullDescent {
  NamedRun run;
  double rate = 0, start = 0, end = 0;

  bool rises() const { return !(end <= start); }
};

FullDescent full_descent(const NamedRun& run, const Descent& descent) {
  const LossBowl bowl(descent.points);
  if (descent.batch() != descent.points.size())
    throw Cannot{fmt::format("`{}` takes {} of {} samples a step: all are needed", run.name, descent.batch(),
                             descent.points.size()),
                 run.name};
  const RankDescent& rank = descent.ranks.front();
  return {run, descent.config.optim.lr, bowl.loss(rank.start), bowl.loss(rank.steps.back().line)};
}

}  // namespace

void check_descent_best(const Question& question) {
  const std::string what = question.argument("what");
  if (std::find(std::begin(kPathMeasures), std::end(kPathMeasures), what) == std::end(kPathMeasures))
    wrong_question(question, "no path has a \"" + printable(what, 60) + "\"", "turn, samples or steps");
}

Truth descent_best_truth(const RuleInput& input) {
  check_descent_best(input.question);
  const std::string what = input.argument("what");
  const double within = number_argument(input, "within", 5);
  std::vector<WalkedPath> paths;
  for (const std::string& name : names_of_runs(input, "runs"))
    paths.push_back(walked_path(input, ended_run(input, name), 1 + within / 100));
  const bool wants_most = what == "turn";
  const auto best = std::min_element(paths.begin(), paths.end(), [&](const auto& one, const auto& other) {
    return wants_most ? one.of(what) > other.of(what) : one.of(what) < other.of(what);
  });
  if (best == paths.end() || !std::isfinite(best->of(what)))
    throw Cannot{fmt::format("no run comes within {:g} % of the least loss", within)};
  Truth out;
  std::vector<std::string> said;
  for (const WalkedPath& path : paths) {
    check_one_source(best->run, path.run);
    const std::string& name = path.run.name;
    const bool is_as_good = std::fabs(path.of(what) - best->of(what)) <= kAsGoodPath * best->of(what);
    if (is_as_good) out.accepted.push_back(name);
    out.figures[name + "_turn"] = fmt::format("{:.0f}", path.turn);
    out.figures[name + "_steps"] = until_text(path.steps);
    out.figures[name + "_samples"] = until_text(path.samples);
    said.push_back(fmt::format("{} in `{}`", out.figures[name + "_" + what], name));
  }
  if (out.accepted.size() == paths.size() && input.question.choice("same") != nullptr)
    out.accepted = {"same"};
  out.figures["best"] = best->run.name;
  out.text = (wants_most ? std::string("mean angle between two steps in degrees: ")
                         : fmt::format("{} until {:g} % above the least loss: ", what, within)) +
             joined(said);
  out.source = source_of(best->run);
  return out;
}

Truth gradient_spread_truth(const RuleInput& input) {
  const NamedRun base = ended_run(input, input.argument("base"));
  const NamedRun other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  const double one = stray_of(input, base), two = stray_of(input, other);
  const bool is_number = input.question.kind == AnswerKind::number;
  constexpr double kNothing = 1e-9;  // of all points the gradient is that of all points, but for rounding
  if (is_number && two < kNothing)
    throw Cannot{fmt::format("the gradients of `{}` do not stray at all", other.name), other.name};
  Truth out;
  out.figures = {{"base_stray", figure_text(one)},
                 {"other_stray", two < kNothing ? "0" : figure_text(two)},
                 {"ratio", two < kNothing ? "-" : figure_text(one / two)}};
  out.text = fmt::format("gradients stray by {} of what a single sample's does in `{}`, by {} in `{}`",
                         out.figures["base_stray"], base.name, out.figures["other_stray"], other.name);
  out.source = source_of(base);
  if (is_number)
    out.number = out.low = out.high = in_unit(input.question, Quantity::ratio, one / two);
  else
    out.accepted = {one > kClearlyLess * two ? "noise" : "equal"};
  return out;
}

Truth stable_rate_truth(const RuleInput& input) {
  Truth out;
  double largest = 0;
  std::vector<FullDescent> runs;
  for (const std::string& name : names_of_runs(input, "runs")) {
    const NamedRun run = ended_run(input, name);
    const Descent descent = descent_of(input, run);
    largest = LossBowl(descent.points).largest_stable_rate();
    out.figures["curvature"] = figure_text(LossBowl(descent.points).curvature());
    runs.push_back(full_descent(run, descent));
  }
  const FullDescent *below = nullptr, *above = nullptr;
  for (const FullDescent& one : runs) {
    if (one.rises() != (one.rate > largest))
      throw Cannot{fmt::format("the loss of `{}` goes from {:.3g} to {:.3g}, which its rate of {:g} does not "
                               "explain: are these all of its steps?",
                               one.run.name, one.start, one.end, one.rate),
                   one.run.name};
    (one.rises() ? above : below) = &one;
  }
  if (below == nullptr || above == nullptr)
    throw Cannot{fmt::format("a run on each side of {:.4g} is needed", largest)};
  check_one_source(below->run, above->run);
  out.number = out.low = out.high = in_unit(input.question, Quantity::learning_rate, largest);
  out.figures["value"] = fmt::format("{:.4f}", largest);
  out.figures["below"] = fmt::format("{:g}", below->rate);
  out.figures["above"] = fmt::format("{:g}", above->rate);
  out.figures["below_end"] = fmt::format("{:.3g}", below->end);
  out.figures["above_end"] = fmt::format("{:.3g}", above->end);
  out.text = fmt::format("2 over the largest curvature, {}: {}; with {} the loss ends at {}, with {} at {}",
                         out.figures["curvature"], out.figures["value"], out.figures["below"],
                         out.figures["below_end"], out.figures["above"], out.figures["above_end"]);
  out.source = source_of(below->run);
  return out;
}

}  // namespace isobar
