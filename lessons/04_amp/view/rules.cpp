// Which runs left out updates, because a gradient overflowed.
#include <fmt/format.h>

#include "core/text.h"
#include "course/rules/parts.h"

namespace isobar::lesson_04 {
namespace {

/// "both" says it of two; of three no single choice would.
void check_skips(const Question& question) {
  const auto named = question.arguments("runs").size();
  if ((named > 0 ? named : question.runs.size()) != 2)
    wrong_question(question, "the rule skips compares two runs", "runs = [\"fp16\", \"bf16\"]");
}

Truth skips_truth(const RuleInput& input) {
  const std::vector<std::string> names = names_of_runs(input, "runs");
  const NamedRun first = ended_run(input, names.front());
  Truth out;
  std::vector<std::string> told;
  for (const std::string& name : names) {
    const NamedRun run = ended_run(input, name);
    check_one_source(first, run);
    const std::int64_t skipped = run.view().summary.skipped;
    if (skipped > 0) out.accepted.push_back(name);
    out.figures[name + "_skipped"] = std::to_string(skipped);
    told.push_back(fmt::format("`{}` skipped {}", name, counted(skipped, "step")));
  }
  out.source = source_of(first);
  if (out.accepted.empty()) out.accepted = {"none"};
  if (out.accepted.size() == 2) out.accepted = {"both"};
  out.text = joined(told);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"skips",
   "which of two runs skipped steps; none, or both",
   {choice}, {}, {"runs"}, skips_truth, nullptr, check_skips},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_04
