// What a step costs whatever its batch, beside what each sample costs: a line through the times of steps.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct BatchTime {
  NamedRun run;
  double batch = 0;
  Spread step_us;

  Spread sample_us() const {
    return figures_of(run, [this](const SteadyFigures& one) { return one.mean("step_us") / batch; });
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

}  // namespace

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
  compare_runs(large->run, many, small->run, one);  // says what is missing for it
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

}  // namespace isobar
