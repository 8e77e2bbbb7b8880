// Lesson 09: which chunk is whole where, and whether the sums of an all-reduce are right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analyse/theatre_run.h"
#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/needed_runs.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// The messages of the first all-reduce, as the ranks recorded them.
Theatre first_theatre(const NamedRun& run) {
  try {
    return read_theatre(run.run->folder, 0);
  } catch (const Error& error) {
    throw Cannot{fmt::format("the messages of `{}` cannot be read: {}", run.name, error.what()), run.name};
  }
}

/// What a run of which nothing else is known says.
Truth sums_of_run(const NamedRun& run) {
  Truth out;
  out.figures = {{"steps", std::to_string(run.view().summary.steps)},
                 {"wrong", "-"},
                 {"values", "-"},
                 {"wrong_steps", "-"},
                 {"ms", "-"},
                 {"base_ms", "-"},
                 {"timeout_s", value_in(run.run->config, "comm.timeout_s")},
                 {"reason", "-"}};
  out.source = source_of(run);
  return out;
}

/// "rank 1 did not send": the error without its place and hint.
std::string first_words(std::string reason) {
  constexpr std::string_view kError = "error: ";
  if (reason.starts_with(kError)) reason.erase(0, kError.size());
  return printable(reason.substr(0, reason.find_first_of(";\n")), 200);
}

/// Of a run that was to fail: whether its error names the rank that is to blame.
Truth failed_sums(const NamedRun& run) {
  Truth out = sums_of_run(run);
  const std::string words = first_words(run.view().reason);
  const std::string blamed = "rank " + value_in(run.run->config, "run.fault_rank") + " did not send";
  out.accepted = {words.starts_with(blamed) ? "named" : "failed"};
  out.figures["reason"] = words;
  out.text = fmt::format("the run ends with an error after {}: {}", counted(run.view().summary.steps, "step"),
                         words);
  return out;
}

std::string time_of_largest(const AllReduceRun& run) { return ms_text(run.medians().back().time_us); }

}  // namespace

Truth chunk_owner_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const Theatre theatre = first_theatre(run);
  const double rank = number_argument(input, "rank");
  if (rank < 0 || rank >= theatre.ranks || rank != std::floor(rank))
    throw Cannot{fmt::format("`{}` has {} ranks, and none of them is {:g}", run.name, theatre.ranks, rank),
                 run.name};
  const int reducing = theatre.steps_of(CollectivePhase::reduce);
  const TheatreMoment moment = theatre.after(static_cast<std::size_t>(reducing));
  const std::vector<TheatreCell>& cells = moment.ranks[static_cast<std::size_t>(rank)].cells;
  Truth out;
  for (std::size_t chunk = 0; chunk < cells.size(); ++chunk) {
    if (cells[chunk].count() == theatre.ranks) out.accepted.push_back(fmt::format("chunk {}", chunk));
  }
  if (out.accepted.empty())
    throw Cannot{fmt::format("after the reduce phase of `{}` rank {:g} has no whole sum", run.name, rank),
                 run.name};
  out.figures = {{"chunk", joined(out.accepted)}, {"steps", std::to_string(reducing)}};
  out.text = fmt::format("after {} rank {:g} has the sum of all ranks in {}", counted(reducing, "step"), rank,
                         out.figures["chunk"]);
  out.source = source_of(run);
  return out;
}

Truth all_reduce_sums_truth(const RuleInput& input) {
  const NamedRun run = run_of(input, input.argument("run"));
  const NeededRun& wanted = *input.question.run(run.name);
  if (!wanted.fails.empty() && ended_as_wanted(wanted, run.view().state)) return failed_sums(run);
  check_ended(run);
  const AllReduceRun sums = all_reduces_of(run);
  Truth out = sums_of_run(run);
  const auto worst = std::max_element(
      sums.steps.begin(), sums.steps.end(),
      [](const AllReduceStep& one, const AllReduceStep& two) { return one.wrong < two.wrong; });
  const auto wrong_steps = std::count_if(sums.steps.begin(), sums.steps.end(),
                                         [](const AllReduceStep& step) { return step.wrong > 0; });
  const bool agrees = std::all_of(sums.steps.begin(), sums.steps.end(),
                                  [](const AllReduceStep& step) { return step.agrees; });
  out.accepted = {!agrees ? "apart" : worst->wrong > 0 ? "wrong" : "right"};
  out.figures["wrong"] = human_count(worst->wrong);
  out.figures["values"] = human_count(std::llround(worst->bytes / sizeof(float)));
  out.figures["wrong_steps"] = std::to_string(wrong_steps);
  out.figures["ms"] = time_of_largest(sums);
  if (!input.argument("base").empty()) {
    const NamedRun base = ended_run(input, input.argument("base"));
    check_one_source(base, run);
    out.figures["base_ms"] = time_of_largest(all_reduces_of(base));
  }
  out.text = fmt::format("{} of {} have wrong values, up to {} of {}; the ranks hold {} bits", wrong_steps,
                         counted(static_cast<std::int64_t>(sums.steps.size()), "all-reduce"),
                         out.figures["wrong"], out.figures["values"], agrees ? "the same" : "different");
  return out;
}

}  // namespace isobar
