// What the buffers of ranks do while they train.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/parts.h"

namespace isobar::lesson_10 {
namespace {

/// A run without notes of buffers has none that change: masks and grids are constants.
Truth buffers_apart_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  if (run.view().summary.world < 2) throw Cannot{"`" + run.name + "` is a run of one rank", run.name};
  const std::map<std::int64_t, double> distances = distances_between(run, "buffers");
  double most = 0;
  for (const auto& [step, apart] : distances) most = std::max(most, apart);
  const double last = distances.empty() ? 0 : distances.rbegin()->second;
  Truth out;
  out.accepted = {distances.empty() ? "constant" : most > 0 ? "apart" : "equal"};
  out.figures = {{"most", fmt::format("{:.3g}", most)}, {"last", fmt::format("{:.3g}", last)}};
  out.text = distances.empty() ? "the model owns no buffers that change in training"
                               : fmt::format("buffers of two ranks are up to {} apart, {} at the end",
                                             out.figures["most"], out.figures["last"]);
  out.source = source_of(run);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"buffers_apart",
   "what the buffers of ranks do: constant (the model owns none that change), equal, apart",
   {choice}, {"run"}, {}, buffers_apart_truth},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_10
