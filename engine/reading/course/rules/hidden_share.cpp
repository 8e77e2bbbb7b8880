// How much of the communication goes on beside computing.
#include <fmt/format.h>

#include <algorithm>

#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

Spread comm_of(const NamedRun& run, const std::function<double(const CommFigures&)>& figure) {
  return figures_of(run, [&](const SteadyFigures& one) { return one.ranks ? figure(one.ranks->comm) : -1; });
}

}  // namespace

Truth hidden_share_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const Spread total = comm_of(run, [](const CommFigures& comm) { return comm.comm_total_us; });
  const Spread exposed = comm_of(run, [](const CommFigures& comm) { return comm.exposed_us; });
  const Spread hidden = comm_of(run, [](const CommFigures& comm) {
    if (!(comm.comm_total_us > 0) || comm.exposed_us < 0) return -1.0;
    return std::clamp(1 - comm.exposed_us / comm.comm_total_us, 0.0, 1.0);
  });
  if (hidden.empty())
    throw Cannot{fmt::format("`{}` recorded no communication between ranks", run.name), run.name};
  const double share = hidden.median();
  Truth out = truth_of(input.question, Quantity::share, hidden);
  if (input.question.kind == AnswerKind::choice)  // the nearest of all, half and none
    out.accepted = {share >= 0.75 ? "most" : share < 0.25 ? "none" : "half"};
  out.figures = {{"hidden", percent_text(share)},
                 {"exposed_ms", ms_text(exposed.median())},
                 {"total_ms", ms_text(total.median())}};
  out.text = fmt::format("{} of {} ms of communication per step is exposed; {} % is hidden",
                         ms_text(exposed.median()), ms_text(total.median()), percent_text(share));
  out.source = source_of(run);
  return out;
}

}  // namespace isobar
