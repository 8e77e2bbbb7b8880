// Which of several pieces gains most: each run has all of them but one.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

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
  std::sort(out.begin(), out.end(),
            [](const Without& a, const Without& b) { return a.rates.median() < b.rates.median(); });
  return out;
}

}  // namespace

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

}  // namespace isobar
