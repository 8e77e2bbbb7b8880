// How many devices one thread could launch the work of.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// A run that was measured says it of each stage, a predicted one of the whole step.
double launching_us(const NamedRun& run) {
  if (run.view().provenance == "predicted") return sums_of(run, {"step_host_us"}).median();
  return sums_of(run, {"forward_host_us", "backward_host_us", "optimize_host_us", "replay_host_us"}).median();
}

}  // namespace

Truth feedable_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const double host_us = launching_us(run);
  const double step_us = sums_of(run, {"step_us"}).median();
  if (!(host_us > 0)) throw Cannot{fmt::format("`{}` recorded no time of the host", run.name), run.name};
  const double devices = std::floor(step_us / host_us);
  Truth out;
  out.number = in_unit(input.question, Quantity::count, devices);
  out.low = std::max(1.0, devices - 1);
  out.high = devices + 1;
  out.figures = {
      {"value", figure_text(devices)}, {"step_ms", ms_text(step_us)}, {"host_ms", ms_text(host_us)}};
  out.text = fmt::format("the host works {} of {} ms a step: enough for {}", ms_text(host_us),
                         ms_text(step_us), counted(static_cast<std::int64_t>(devices), "device"));
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
