// What bounds a run: the verdict of ./isobar verdict.
#include "analyse/run_prediction.h"
#include "analyse/run_verdict.h"
#include "course/rules/parts.h"
#include "formula/model_shape.h"

namespace isobar::lesson_02 {
namespace {

const char* key_of(Bound bound) {
  switch (bound) {
    case Bound::contention:
      return "contention";
    case Bound::launch:
      return "launch";
    default:
      return bound_name(bound);
  }
}

Truth bound_by_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  RunFacts facts;
  if (const auto settings = settings_of(run.run->folder, run.view().lesson))
    facts.attention_flops = 3 * count_forward_flops(vit_shape(settings->config)).attention;
  const RunVerdict verdict = judge_run(*run.run, find_quartet(*run.run, facts), facts);
  if (!verdict.is_known || verdict.verdict.bound == Bound::fault)
    throw Cannot{"`" + run.name + "`: " + verdict_sentence(verdict), run.name};
  Truth out;
  out.accepted = {key_of(verdict.verdict.bound)};
  // A quartet that names another part than the anatomy of the step has no share of it.
  out.figures = {{"sentence", verdict_sentence(verdict)},
                 {"share", verdict.share > 0 ? percent_text(verdict.share) : "-"}};
  out.text = verdict_sentence(verdict);
  out.source = source_of(run);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"bound_by",
   "what bounds a run: data, contention, communication, launch, compute, straggler",
   {choice}, {"run"}, {}, bound_by_truth, always_timed},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_02
