// How long some fields of a step take, the step without them, and what changes when they do.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
Truth mean_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const Spread sums = sums_of(run, input.arguments("fields"));
  Truth out = truth_of(input.question, Quantity::time, sums);
  out.text = fmt::format("{} ms a step", ms_text(sums.median()));
  out.figures = {{"value", figure_text(out.number)}};
  out.source = source_of(run);
  return out;
}

Truth without_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const std::vector<std::string> fields = input.arguments("fields");
  sums_of(run, fields);  // says which field is not there
  const Spread left = figures_of(run, [&](const SteadyFigures& one) {
    double us = one.mean("step_us");
    for (const std::string& field : fields) us -= std::max(0.0, one.mean(field));
    return std::max(0.0, us);
  });
  Truth out = truth_of(input.question, Quantity::time, left);
  const double step_us = sums_of(run, {"step_us"}).median();
  out.text = fmt::format("{} of {} ms a step are left", ms_text(left.median()), ms_text(step_us));
  out.figures = {{"step_ms", ms_text(step_us)}, {"without_ms", ms_text(left.median())}};
  out.source = source_of(run);
  return out;
}

Truth stage_gain_truth(const RuleInput& input) {
  const NamedRun base = timed_run(input, input.argument("base"));
  const NamedRun other = timed_run(input, input.argument("other"));
  const std::vector<std::string> fields = input.arguments("fields");
  const Spread of_base = sums_of(base, fields), of_other = sums_of(other, fields);
  compare_runs(base, of_base, other, of_other);  // says what is missing for it
  const double step_us = sums_of(other, {"step_us"}).median();
  if (!(step_us > 0)) throw Cannot{"`" + other.name + "` recorded no time of step_us", other.name};
  const double gain_us = of_other.median() - of_base.median();
  // No share below 0 can be typed: what takes less than before gains nothing.
  const auto share = [&](double us) {
    return in_unit(input.question, Quantity::share, std::max(0.0, us / step_us));
  };
  Truth out;
  set_interval(out, share(gain_us), share(of_other.least() - of_base.most()),
               share(of_other.most() - of_base.least()));
  out.text = fmt::format("{} ms of a step of {} ms: {} %", ms_text(gain_us), ms_text(step_us),
                         percent_text(gain_us / step_us));
  out.figures = {{"gain_ms", ms_text(gain_us)},
                 {"step_ms", ms_text(step_us)},
                 {"gain_percent", percent_text(gain_us / step_us)}};
  out.source = source_of(base);
  return out;
}

}  // namespace isobar
