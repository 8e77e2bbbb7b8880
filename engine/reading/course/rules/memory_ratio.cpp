// Memory of two runs, by the categories that each works out before it begins.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

double bytes_of(const NamedRun& run, const std::vector<std::string>& parts) {
  double bytes = 0;
  std::vector<std::string> known;
  for (const auto& [name, of_it] : run.view().memory) {
    known.push_back(name);
    if (std::find(parts.begin(), parts.end(), name) != parts.end()) bytes += static_cast<double>(of_it);
  }
  if (bytes > 0) return bytes;
  throw Cannot{fmt::format("`{}` reports no memory of {}{}", run.name, joined(parts, " and "),
                           known.empty() ? "" : ", only of " + joined(known)),
               run.name};
}

}  // namespace

Truth memory_ratio_truth(const RuleInput& input) {
  const NamedRun base = ended_run(input, input.argument("base"));
  const NamedRun other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  std::vector<std::string> parts = input.arguments("part");
  if (parts.empty()) parts = {"activations"};
  const double one = bytes_of(base, parts), two = bytes_of(other, parts);
  Truth out;
  out.number = out.low = out.high = in_unit(input.question, Quantity::ratio, two / one);
  out.figures = {{"base_gib", gib_text(one)},
                 {"other_gib", gib_text(two)},
                 {"base_mb", figure_text(one * 1e-6)},
                 {"other_mb", figure_text(two * 1e-6)},
                 {"ratio", fmt::format("{:.2f}", two / one)}};
  out.text = fmt::format("{} MB of {} in `{}`, {} MB in `{}`", out.figures["other_mb"],
                         joined(parts, " and "), other.name, out.figures["base_mb"], base.name);
  out.source = "by formula";
  return out;
}

}  // namespace isobar
