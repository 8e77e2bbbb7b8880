// What a mistake does to a curve of losses, as one of a few shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "course/curve_shape.h"
#include "course/needed_runs.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Share of the healthy curve's fall: two ends nearer than a twentieth are one line in a picture.
constexpr double kVisible = 0.05;
/// A curve that falls by less than a tenth of what the healthy one falls looks flat beside it.
constexpr double kFlat = 0.1;

/// Steps and losses, in order.
using Points = std::vector<std::pair<double, double>>;

Points points_of(const NamedRun& run, const std::string& name) { return run.run->series.find(name).points(); }

/// The last quarter, whose mean smooths what single batches do.
Points last_quarter(const Points& points) {
  const std::size_t kept = std::max<std::size_t>(1, points.size() / 4);
  return {points.end() - static_cast<std::ptrdiff_t>(kept), points.end()};
}

double end_of(const Points& points) {
  double sum = 0;
  const Points last = last_quarter(points);
  for (const auto& [step, loss] : last) sum += loss;
  return sum / static_cast<double>(last.size());
}

/// Twice the standard error of what lies between two ends, by the pairs of losses at equal steps: the batches
/// of the two runs may be others.
double noise_between(const Points& one, const Points& other) {
  std::vector<double> apart;
  const Points from = last_quarter(one);
  for (const auto& [step, loss] : last_quarter(other)) {
    const auto same = std::ranges::find_if(from, [at = step](auto& point) { return point.first == at; });
    if (same != from.end()) apart.push_back(loss - same->second);
  }
  if (apart.size() < 3) return 0;
  double mean = 0, square = 0;
  const auto count = static_cast<double>(apart.size());
  for (const double one_apart : apart) mean += one_apart / count;
  for (const double one_apart : apart) square += (one_apart - mean) * (one_apart - mean);
  return 2 * std::sqrt(square / (count - 1) / count);
}

/// However much it grows from step to step, which looks like noise beside the mean.
bool stays_above(const Points& points, double bound) {
  const Points last = last_quarter(points);
  return std::ranges::all_of(last, [&](const auto& point) { return point.second > bound; });
}

std::string shape_of(const Points& healthy, const Points& fault, double band) {
  const double healthy_end = end_of(healthy), fault_end = end_of(fault);
  const double clearly_above = 2 * std::max(fault.front().second, healthy.front().second);
  if (!std::isfinite(fault_end) || stays_above(fault, clearly_above)) return "rises";
  if (std::fabs(fault_end - healthy_end) <= band) return "same";
  const double fell = fault.front().second - fault_end;
  if (fell < -band) return "rises";
  if (fell < kFlat * (healthy.front().second - healthy_end)) return "flat";
  return fault_end < healthy_end ? "lower" : "slower";
}

/// A run that ended with the error that the mistake leads to, whatever its losses were until then.
Truth stopped_truth(const NamedRun& fault) {
  Truth out;
  out.accepted = {"stops"};
  const std::string steps = counted(fault.view().summary.steps, "step");
  out.figures = {
      {"healthy_end", "-"}, {"fault_end", "-"}, {"start", "-"}, {"fault_start", "-"}, {"steps", steps}};
  out.text =
      fmt::format("the run ends with an error after {}: {}", steps, printable(fault.view().reason, 200));
  out.source = source_of(fault);
  return out;
}

}  // namespace

void check_curve(const Question& question) {
  std::vector<std::string> keys;
  for (const CurveShape& shape : curve_shapes()) keys.emplace_back(shape.key);
  check_choice_keys(question, keys);
}

Truth curve_truth(const RuleInput& input) {
  const std::string name = input.argument("curve", "train/loss");
  const NamedRun fault = run_of(input, input.argument("fault"));
  const NeededRun& wanted = *input.question.run(fault.name);
  if (!wanted.fails.empty() && ended_as_wanted(wanted, fault.view().state)) return stopped_truth(fault);
  check_ended(fault);
  const NamedRun healthy = ended_run(input, input.argument("healthy"));
  check_one_source(healthy, fault);
  Points good = points_of(healthy, name), bad = points_of(fault, name);
  const auto check_two = [&](const char* where) {
    for (const auto& [run, points] : {std::pair{&healthy, &good}, std::pair{&fault, &bad}}) {
      if (points->size() < 2)
        throw Cannot{fmt::format("`{}` has {} of {}{}, 2 are needed", run->name,
                                 counted(static_cast<std::int64_t>(points->size()), "value"), name, where),
                     run->name};
    }
  };
  check_two("");
  const double until = std::min(good.back().first, bad.back().first);
  for (Points* const points : {&good, &bad})
    std::erase_if(*points, [&](const auto& point) { return point.first > until; });
  check_two(" in the steps that both runs made");
  const double start = good.front().second, healthy_end = end_of(good), fault_end = end_of(bad);
  if (!(healthy_end < start))
    throw Cannot{
        fmt::format("{} of `{}` does not fall, from {:.3g} to {:.3g}, so nothing can be compared with it",
                    name, healthy.name, start, healthy_end),
        healthy.name};
  const double band = std::max(
      {parity_band(healthy.view().summary.precision, fault.view().summary.precision) * std::fabs(healthy_end),
       kVisible * (start - healthy_end), noise_between(good, bad)});
  Truth out;
  out.accepted = {shape_of(good, bad, band)};
  out.figures = {{"healthy_end", fmt::format("{:.3g}", healthy_end)},
                 {"fault_end", fmt::format("{:.3g}", fault_end)},
                 {"start", fmt::format("{:.3g}", start)},
                 {"fault_start", fmt::format("{:.3g}", bad.front().second)},
                 {"steps", counted(fault.view().summary.steps, "step")}};
  out.text = fmt::format("from {} to {}; without the mistake from {} to {}", out.figures["fault_start"],
                         out.figures["fault_end"], out.figures["start"], out.figures["healthy_end"]);
  out.source = source_of(fault);
  return out;
}

}  // namespace isobar
