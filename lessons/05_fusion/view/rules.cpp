// Rules of fused kernels: what takes most of a predicted step, and which of several pieces gains most.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/parts.h"
#include "formula/device_rates.h"
#include "formula/stage_prediction.h"
#include "formula/step_time.h"

namespace isobar::lesson_05 {
namespace {

struct ClassShare {
  const char* key;
  const char* words;
  double us;
};

Truth largest_class_truth(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  const DeviceRates& device = rates_of(input.argument("device"));
  const StepTime step = predict_step(step_form(settings.lesson, settings.config, /*on_cuda=*/true), device);
  const ClassTimes classes = step.classes();
  const ClassShare shares[] = {{"attention", "attention", classes.attention_us},
                               {"gemm", "matrix products", classes.gemm_us},
                               {"elementwise", "element-wise work", classes.element_us},
                               {"misc", "loss, update and gaps", classes.misc_us}};
  const ClassShare& most = *std::ranges::max_element(shares, [](auto& a, auto& b) { return a.us < b.us; });
  Truth out;
  out.accepted = {most.key};
  out.figures = {{"largest", most.words},
                 {"share", percent_text(most.us / step.step_us())},
                 {"step_ms", ms_text(step.step_us())}};
  for (const ClassShare& one : shares)
    out.figures[std::string(one.key) + "_share"] = percent_text(one.us / step.step_us());
  out.text =
      fmt::format("{}: {} % of a step of {} ms", most.words, out.figures["share"], out.figures["step_ms"]);
  out.source = "predicted by model for " + device.name;
  return out;
}

struct Without {
  NamedRun run;
  Spread rates;
};

/// Runs that are slower than the one with all pieces, beyond the spread; the slowest first.
std::vector<Without> slower_ones(const RuleInput& input, const NamedRun& base) {
  const Spread of_base = rates_of(base);
  std::vector<Without> out;
  for (const std::string& name : names_of_runs(input, "runs")) {
    if (name == base.name) continue;
    Without one{timed_run(input, name), {}};
    one.rates = rates_of(one.run);
    if (compare_runs(base, of_base, one.run, one.rates).direction == Direction::less)
      out.push_back(std::move(one));
  }
  std::ranges::sort(out,
                    [](const Without& a, const Without& b) { return a.rates.median() < b.rates.median(); });
  return out;
}

Truth largest_gain_truth(const RuleInput& input) {
  const NamedRun base = timed_run(input, input.argument("base"));
  const std::vector<Without> slower = slower_ones(input, base);
  Truth out;
  out.source = source_of(base);
  out.figures["base_rate"] = figure_text(rates_of(base).median());
  if (slower.empty()) {
    out.accepted = {"none"};
    out.figures["largest"] = "none";
    out.figures["gain_percent"] = "0";
    out.text = "no run is slower beyond the spread";
    return out;
  }
  const Without& slowest = slower.front();
  for (const Without& one : slower) {
    if (&one == &slowest || compare_runs(slowest.run, slowest.rates, one.run, one.rates).is_same())
      out.accepted.push_back(one.run.name);
  }
  const double gain = rates_of(base).median() / slowest.rates.median() - 1;
  out.figures["largest"] = slowest.run.name;
  out.figures["gain_percent"] = percent_text(gain);
  out.text = fmt::format("`{}` gains {} %: {} in place of {} samples/s", slowest.run.name, percent_text(gain),
                         out.figures["base_rate"], figure_text(slowest.rates.median()));
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"largest_class",
   "what takes most of a predicted step: attention, gemm, elementwise, misc",
   {choice}, {"device"}, {"lesson", "preset", "set"}, largest_class_truth},
  {"largest_gain",
   "the run, each with one piece less than `base`, that is slowest; none if none is slower",
   {choice}, {"base"}, {"runs"}, largest_gain_truth, always_timed},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_05
