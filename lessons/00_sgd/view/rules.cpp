// Rules of the fit of a line: how rough paths are, how soon they come down, how far gradients stray, which
// learning rate they bear; what ranks do beside each other; and what a step costs whatever its batch.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "00_sgd/view/descent.h"
#include "core/text.h"
#include "course/rules/made.h"

namespace isobar::lesson_00 {
namespace {

/// The path of a run, of one step or more.
Descent descent_of(const RuleInput& input, const NamedRun& run) {
  Descent out = read_for(run, "the path", [&] { return read_descent(run.run->folder, input.home); });
  if (out.steps() == 0) throw Cannot{fmt::format("`{}` made no step", run.name), run.name};
  return out;
}

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

void check_descent_best(const Question& question) {
  const std::string what = question.argument("what");
  if (std::ranges::find(kPathMeasures, what) == std::end(kPathMeasures))
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
  const auto best = std::ranges::min_element(paths, [&](const auto& one, const auto& other) {
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
  const auto [base, other] = ended_pair(input);
  const double one = stray_of(input, base), two = stray_of(input, other);
  const bool is_number = input.question.kind == AnswerKind::number;
  constexpr double kNothing = 1e-9;  // a batch of all points strays by rounding alone
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

Truth made_descent_truth(const RuleInput& input) {
  const bool of_rate = input.argument("what") == "rate";
  const double most_rest = number_argument(input, "rest", 0);
  std::map<std::string, std::string> figures;
  double rest = 0;
  MadeFigure figure{.name = of_rate ? "of the largest stable rate" : "samples until 5 % above the least loss",
                    .quantity = of_rate ? Quantity::share : Quantity::count};
  figure.of = [&](const NamedRun& run) {
    const Descent descent = descent_of(input, run);
    figures["rate"] = figure_text(descent.config.optim.lr);
    if (!of_rate) {
      rest = 100 * rest_above_least(descent);
      return Spread({walked_path(input, run, 1.05).samples});
    }
    const FullDescent full = full_descent(run, descent);
    const double largest = LossBowl(descent.points).largest_stable_rate();
    figures.insert({{"limit", figure_text(largest)},
                    {"start", fmt::format("{:.3g}", full.start)},
                    {"end", fmt::format("{:.3g}", full.end)}});
    return Spread({full.rate / largest});
  };
  Truth out = made_truth_of(input, figure);
  out.figures.merge(figures);
  if (of_rate) return out;
  if (!(rest <= most_rest)) out.accepted.clear();
  out.text += fmt::format(
      "; in the second half the loss is {} % above the least on average, {:g} % at most "
      "is required",
      std::isfinite(rest) ? fmt::format("{:.2g}", rest) : "infinitely many", most_rest);
  return out;
}

/// Sums in another order differ in their last digits, in double precision.
constexpr double kEqualPaths = 1e-12;
/// An offset that stays: updates are equal, and only rounding moves it.
constexpr double kOffsetStays = 1e-9;
/// Share of the loss at the start: no path that comes down has it at the end.
constexpr double kLeavesAt = 10;

/// The largest distance of a rank from rank 0 before each step, and at the end.
std::vector<double> ranks_apart(const Descent& descent) {
  std::vector<double> out;
  for (std::size_t step = 0; step <= descent.steps(); ++step) {
    double most = 0;
    for (const RankDescent& rank : descent.ranks)
      most = std::max(most, path_distance({descent.ranks.front().before(step)}, {rank.before(step)}));
    out.push_back(most);
  }
  return out;
}

bool leaves(const Descent& descent) {
  const LossBowl bowl(descent.points);
  return std::ranges::any_of(descent.ranks, [&](const RankDescent& rank) {
    return !(bowl.loss(rank.before(descent.steps())) <= kLeavesAt * bowl.loss(rank.start));
  });
}

std::string paths_word(const Descent& ranks, const std::vector<double>& apart, double from_base) {
  if (leaves(ranks)) return "diverges";
  const auto [least, most] = std::minmax_element(apart.begin(), apart.end());
  if (*least > 0 && *most - *least <= kOffsetStays * *most) return "offset";
  if (*most > kEqualPaths) return "apart";
  return from_base <= kEqualPaths ? "same" : "other";
}

Truth rank_paths_truth(const RuleInput& input) {
  const auto [base, other] = ended_pair(input);
  const Descent one = descent_of(input, base), many = descent_of(input, other);
  if (one.ranks.size() != 1)
    throw Cannot{fmt::format("`{}` has {} ranks, one is needed", base.name, one.ranks.size()), base.name};
  if (many.ranks.size() < 2)
    throw Cannot{fmt::format("`{}` is no run of several ranks", other.name), other.name};
  if (one.steps() != many.steps())
    throw Cannot{
        fmt::format("`{}` made {}, `{}` {}", base.name,
                    counted(static_cast<std::int64_t>(one.steps()), "step"), other.name, many.steps()),
        other.name};
  const std::vector<double> apart = ranks_apart(many);
  const double from_base = path_distance(one.ranks.front().path(), many.ranks.front().path());
  const LossBowl bowl(many.points);
  const auto loss_text = [&](const Descent& descent) {
    return fmt::format("{:.3g}", bowl.loss(descent.ranks.front().before(descent.steps())));
  };
  const double most_apart = *std::ranges::max_element(apart);
  Truth out;
  out.accepted = {paths_word(many, apart, from_base)};
  out.figures = {{"ranks", std::to_string(many.ranks.size())},
                 {"apart", fmt::format("{:.3g}", most_apart)},
                 {"apart_first", fmt::format("{:.3g}", apart.front())},
                 {"apart_last", fmt::format("{:.3g}", apart.back())},
                 {"from_one", fmt::format("{:.2g}", from_base)},
                 {"end_loss", loss_text(many)},
                 {"one_loss", loss_text(one)}};
  out.text = fmt::format("the ranks' paths are up to {} apart, and up to {} from that of one rank",
                         out.figures["apart"], out.figures["from_one"]);
  out.source = source_of(base);
  return out;
}

struct BatchTime {
  NamedRun run;
  double batch = 0;
  Spread step_us;

  Spread sample_us() const {
    return figures_of(run, [this](const SteadyFigures& one) {
      const auto step_us = one.mean("step_us");
      return step_us ? std::optional(*step_us / batch) : std::nullopt;
    });
  }
};

BatchTime batch_time(const NamedRun& run) {
  BatchTime out{run, run.run->samples_a_step(), sums_of(run, {"step_us"})};
  if (!(out.batch > 0) || !(out.step_us.median() > 0))
    throw Cannot{fmt::format("`{}` recorded no time of its samples", run.name), run.name};
  return out;
}

/// The intercept of the line through two steps, as a share of the smaller one.
double overhead_share(const BatchTime& small, double small_us, const BatchTime& large, double large_us) {
  const double sample_us = std::max(0.0, (large_us - small_us) / (large.batch - small.batch));
  return std::clamp(1 - sample_us * small.batch / small_us, 0.0, 1.0);
}

Truth step_overhead_truth(const RuleInput& input) {
  std::vector<BatchTime> times;
  for (const std::string& name : names_of_runs(input, "runs"))
    times.push_back(batch_time(timed_run(input, name)));
  const auto [small, large] = std::minmax_element(
      times.begin(), times.end(),
      [](const BatchTime& one, const BatchTime& other) { return one.batch < other.batch; });
  if (times.empty() || !(small->batch < large->batch))
    throw Cannot{"runs with two sizes of the batch are needed"};
  const Spread one = small->sample_us(), many = large->sample_us();
  compare_runs(large->run, many, small->run, one);  // throws what is missing for it
  const Spread &few_us = small->step_us, &all_us = large->step_us;
  const double share = overhead_share(*small, few_us.median(), *large, all_us.median());
  Truth out;
  out.figures = {
      {"small_batch", figure_text(small->batch)},           {"large_batch", figure_text(large->batch)},
      {"small_us", figure_text(few_us.median())},           {"large_us", figure_text(all_us.median())},
      {"small_sample_us", figure_text(one.median())},       {"large_sample_us", figure_text(many.median())},
      {"times", figure_text(one.median() / many.median())}, {"share", percent_text(share)}};
  out.text = fmt::format(
      "a step takes {} us with a batch of {} and {} us with one of {}: {} % of the shorter is there "
      "whatever the batch",
      out.figures["small_us"], out.figures["small_batch"], out.figures["large_us"],
      out.figures["large_batch"], out.figures["share"]);
  out.source = source_of(small->run);
  if (input.question.kind == AnswerKind::choice) {
    out.accepted = {share > 0.5 ? "overhead" : "samples"};
    return out;
  }
  const auto shown = [&](double value) { return in_unit(input.question, Quantity::share, value); };
  out.number = shown(share);
  out.low = shown(std::min(share, overhead_share(*small, few_us.least(), *large, all_us.most())));
  out.high = shown(std::max(share, overhead_share(*small, few_us.most(), *large, all_us.least())));
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"descent_best",
   "the runs whose path turns most, or that take the fewest samples or steps until the loss is "
   "`within` (5) % of the least; same: all are alike",
   {choice}, {"what"}, {"runs", "within"}, descent_best_truth, nullptr, check_descent_best},
  {"gradient_spread",
   "how many times as far the gradients of `base` stray from that of all samples as those of `other`; "
   "as a choice: noise, equal",
   {number, choice}, {"base", "other"}, {}, gradient_spread_truth, nullptr, check_unit<Quantity::ratio>},
  {"made_descent",
   "a run of the learner's, from `least` to `most`: `what` samples until the loss is within 5 % of the least, with at "
   "most `rest` % above it on average in the second half; `what` rate, as % of the largest stable one",
   {make}, {"what"}, {"rest", "least", "most", "keeps"}, made_descent_truth, nullptr, check_made_arguments},
  {"rank_paths",
   "the paths of the ranks of `other` beside that of `base`, one rank: same, other (all ranks walk "
   "one other path), offset (a constant distance apart), apart, diverges",
   {choice}, {"base", "other"}, {}, rank_paths_truth},
  {"stable_rate",
   "the largest learning rate of full-batch descent that does not diverge; runs on both sides of it "
   "show it",
   {number}, {"runs"}, {}, stable_rate_truth, nullptr, check_unit<Quantity::learning_rate>},
  {"step_overhead",
   "what part of a step of the smallest batch is there whatever the batch, by the time of the largest: overhead "
   "(more than half), samples; as a number in %",
   {choice, number}, {}, {"runs"}, step_overhead_truth, always_timed, check_unit<Quantity::share>},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_00
