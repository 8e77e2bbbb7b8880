// Which rank the others wait for.
#include <fmt/format.h>

#include <map>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
Truth straggler_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  std::map<int, std::size_t> times;  // by rank, -1 = none, in how many repeats
  const RanksView* shown = nullptr;
  for (const SteadyFigures& one : run.run->repeats) {
    if (!one.ranks || one.ranks->steps == 0) continue;
    ++times[one.ranks->straggler ? one.ranks->straggler->rank : -1];
    if (shown == nullptr) shown = &*one.ranks;
  }
  if (shown == nullptr)
    throw Cannot{fmt::format("`{}` is no run of several ranks whose steps can be compared", run.name),
                 run.name};
  int most = times.begin()->first;
  for (const auto& [rank, count] : times) {
    if (count > times[most]) most = rank;
  }
  const std::string key = most < 0 ? "none" : fmt::format("rank {}", most);
  Truth out;
  out.accepted = {key};
  const bool is_told = shown->straggler && shown->straggler->rank == most;
  out.figures = {{"straggler", key}, {"kept_ms", is_told ? ms_text(shown->straggler->kept_us) : "0"}};
  out.text = is_told    ? straggler_sentence(*shown)
             : most < 0 ? "no rank keeps the others waiting beyond the spread of the steps"
                        : fmt::format("{} keeps the others waiting in most of the runs", key);
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
