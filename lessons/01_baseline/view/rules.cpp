// Whether a forecast is better than persistence, which keeps the weather as it is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/parts.h"

namespace isobar::lesson_01 {
namespace {

std::string steps_scored(const RunView& view) {
  std::vector<std::string> steps;
  for (const RunScores& one : view.scores) steps.push_back(std::to_string(one.step));
  return steps.empty() ? "it was never scored" : "it was scored after steps " + joined(steps);
}

Truth skill_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const double epoch = number_argument(input, "epoch", 1);
  const RunView& view = run.view();
  const auto step =
      static_cast<std::int64_t>(std::llround(epoch * static_cast<double>(view.steps_per_epoch)));
  const auto scores =
      std::ranges::find_if(view.scores, [&](const RunScores& one) { return one.step == step; });
  if (view.steps_per_epoch <= 0 || scores == view.scores.end())
    throw Cannot{fmt::format("`{}` was not scored after epoch {} (step {}): {}", run.name, figure_text(epoch),
                             step, steps_scored(view)),
                 run.name};
  if (!(scores->persistence_rmse > 0))
    throw Cannot{fmt::format("`{}` has no score of persistence to compare with", run.name), run.name};
  const bool is_better = scores->rmse < scores->persistence_rmse;
  Truth out;
  out.accepted = {is_better ? "yes" : "no"};
  out.figures = {{"rmse", fmt::format("{:.3g}", scores->rmse)},
                 {"persistence", fmt::format("{:.3g}", scores->persistence_rmse)},
                 {"epoch", figure_text(epoch)},
                 {"channel", printable(scores->headline, 40)}};
  out.text = fmt::format("the {} RMSE after epoch {} is {}, that of persistence {}", out.figures["channel"],
                         out.figures["epoch"], out.figures["rmse"], out.figures["persistence"]);
  out.source = source_of(run);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"skill",
   "yes or no: the headline RMSE after an epoch (1) is below that of persistence",
   {choice}, {"run"}, {"epoch"}, skill_truth},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_01
