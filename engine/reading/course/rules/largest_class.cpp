// What takes most of a step on a device that need not be here.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "formula/device_rates.h"
#include "formula/stage_prediction.h"
#include "formula/step_time.h"

namespace isobar {
namespace {

struct ClassShare {
  const char* key;
  const char* words;
  double us;
};

}  // namespace

Truth largest_class_truth(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  const DeviceRates& device = rates_of(input.argument("device"));
  const StepTime step = predict_step(step_form(settings.lesson, settings.config, /*on_cuda=*/true), device);
  const ClassTimes classes = step.classes();
  const ClassShare shares[] = {{"attention", "attention", classes.attention_us},
                               {"gemm", "matrix products", classes.gemm_us},
                               {"elementwise", "element-wise work", classes.element_us},
                               {"misc", "loss, update and gaps", classes.misc_us}};
  const ClassShare& most =
      *std::max_element(std::begin(shares), std::end(shares), [](auto& a, auto& b) { return a.us < b.us; });
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

}  // namespace isobar
