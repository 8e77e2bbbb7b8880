#include "plot/run_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/axis.h"

namespace isobar {

StageTimes stage_times(const Repeats& repeats) {
  std::vector<const SteadyFigures*> timed;
  for (const SteadyFigures& one : repeats) {
    if (one.mean("step_us") > 0) timed.push_back(&one);
  }
  StageTimes out;
  if (timed.empty()) return out;
  const auto step_us = [](const SteadyFigures* one) { return one->mean("step_us"); };
  std::ranges::sort(timed, {}, step_us);
  const SteadyFigures& run = *timed[(timed.size() - 1) / 2];
  double rest_us = *run.mean("step_us");
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    const std::optional<double> stage_us = run.mean(kStageKeys[i]);
    if (!stage_us) continue;
    out.emplace_back(kStageNames[i], *stage_us);
    rest_us -= *stage_us;
  }
  if (!out.empty() && rest_us > 0) out.emplace_back("rest", rest_us);
  return out;
}

ScoreRow score_row(const Repeats& repeats) {
  const Spread rate = rates(repeats);
  ScoreRow out;
  out.rate = rate.median();
  out.least = rate.least();
  out.most = rate.most();
  if (!rate.empty()) out.rate_words = engineering(rate.median(), 3) + " /s";
  if (rate.values.size() > 1)
    out.range_words = engineering(rate.least(), 3) + " to " + engineering(rate.most(), 3);
  const double step_us = mean_us(repeats, "step_us");
  if (step_us > 0) out.step_words = fmt::format("{:.1f} ms a step", step_us * 1e-3);
  out.stages_us = stage_times(repeats);
  return out;
}

WaterfallSpec waterfall_of(const RunComparison& found, const std::string& base, const std::string& other) {
  constexpr double kSmall = 0.03;  // of the largest
  WaterfallSpec out;
  out.title = fmt::format("From {} to {}: where a {} gains and loses its time", base, other, found.per);
  out.base = base;
  out.other = other;
  out.base_us = found.step.base_us;
  out.other_us = found.step.other_us;
  double most_us = 0, others_us = 0;
  for (const StageDifference& part : found.stages) most_us = std::max(most_us, std::fabs(part.more_us()));
  for (const StageDifference& part : found.stages) {
    if (std::fabs(part.more_us()) < kSmall * most_us)
      others_us += part.more_us();
    else
      out.terms.push_back({part.stage, part.more_us()});
  }
  if (out.terms.size() < found.stages.size()) out.terms.push_back({"others", others_us});
  return out;
}

}  // namespace isobar
