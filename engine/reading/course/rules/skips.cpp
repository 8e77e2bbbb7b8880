// Which runs left out updates, because a gradient overflowed.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

Truth skips_truth(const RuleInput& input) {
  const std::vector<std::string> names = names_of_runs(input, "runs");
  Truth out;
  std::vector<std::string> told;
  for (const std::string& name : names) {
    const NamedRun run = ended_run(input, name);
    const std::int64_t skipped = run.view().summary.skipped;
    if (skipped > 0) out.accepted.push_back(name);
    out.figures[name + "_skipped"] = std::to_string(skipped);
    told.push_back(fmt::format("`{}` skipped {}", name, counted(skipped, "step")));
    if (out.source.empty()) out.source = source_of(run);
  }
  if (out.accepted.empty()) out.accepted = {"none"};
  if (names.size() == 2 && out.accepted.size() == 2) out.accepted = {"both"};
  out.text = join(told, ", ");
  return out;
}

}  // namespace

Rule skips_rule() {
  static constexpr std::array kinds = {AnswerKind::choice};
  static constexpr std::array may = {"runs"};
  return {
      "skips", "the runs that skipped steps; none, or both of two", kinds, {}, may, answered<skips_truth>};
}

}  // namespace isobar
