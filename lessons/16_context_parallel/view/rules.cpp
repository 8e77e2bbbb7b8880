// The rule of context parallel: what a rank sends in a step, beside the formula by its parts.
#include <fmt/format.h>

#include "course/rules/parts.h"
#include "sent.h"

namespace isobar::lesson_16 {
namespace {

Truth cp_wire_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const std::optional<ContextStep> step = context_of(run.run->folder, run.view());
  if (!step) throw Cannot{"ranks of `" + run.name + "` share no tokens; mesh.cp cuts them", run.name};
  const Spread sent =
      figures_of(run, [](const SteadyFigures& repeat) { return repeat.mean("wire_bytes").value_or(-1); });
  if (sent.empty()) throw Cannot{"`" + run.name + "` reports no bytes that it sent", run.name};
  Truth out = truth_of(input.question, Quantity::bytes, sent);
  const auto mb = [](double bytes) { return number_text(Quantity::bytes, bytes); };
  out.figures = {{"value", mb(sent.median())},
                 {"formula", mb(step->bytes())},
                 {"blocks", mb(step->blocks.bytes())},
                 {"ends", mb(step->share_bytes + step->unite_bytes)},
                 {"sums", mb(step->sum_bytes)}};
  out.text = fmt::format("a rank of `{}` sends {} MB a step, {} MB by formula", run.name,
                         out.figures["value"], out.figures["formula"]);
  out.source = source_of(run);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"cp_wire",
   "bytes that rank 0 sends in a step of a `run` whose ranks share tokens; attention, both ends and sums by formula",
   {number}, {"run"}, {}, cp_wire_truth, nullptr, check_unit<Quantity::bytes>},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_16
