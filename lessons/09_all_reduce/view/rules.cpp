// Rules of an all-reduce: which chunk is whole where, whether sums are right, and its times over sizes,
// beside each other and beside the alpha-beta model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "09_all_reduce/view/all_reduce_run.h"
#include "09_all_reduce/view/schedule_run.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/needed_runs.h"
#include "course/rules/made.h"
#include "formula/link_fit.h"

namespace isobar::lesson_09 {
namespace {

/// What a run or its repeat `repeat` recorded, with one time or more.
AllReduceRun all_reduces_of(const NamedRun& run, std::size_t repeat = 0) {
  AllReduceRun out =
      read_for(run, "the all-reduces", [&] { return read_all_reduces(run.run->folders.at(repeat)); });
  if (out.medians().empty()) throw Cannot{fmt::format("`{}` timed no all-reduce", run.name), run.name};
  return out;
}

/// A figure of each of its repeats.
Spread over_all_reduces(const NamedRun& run, const std::function<double(const AllReduceRun&)>& figure) {
  std::vector<double> values;
  for (std::size_t i = 0; i < run.run->folders.size(); ++i) values.push_back(figure(all_reduces_of(run, i)));
  return Spread(values);
}

/// The messages of the first all-reduce, as the ranks recorded them.
Schedule first_schedule(const NamedRun& run) {
  return read_for(run, "the messages", [&] { return read_schedule(run.run->folder, 0); });
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

Truth chunk_owner_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const Schedule schedule = first_schedule(run);
  const double rank = number_argument(input, "rank");
  if (rank < 0 || rank >= schedule.ranks || rank != std::floor(rank))
    throw Cannot{fmt::format("`{}` has {} ranks, and none of them is {:g}", run.name, schedule.ranks, rank),
                 run.name};
  const int reducing = schedule.steps_of(CollectivePhase::reduce);
  const ScheduleMoment moment = schedule.after(static_cast<std::size_t>(reducing));
  const std::vector<ScheduleCell>& cells = moment.ranks[static_cast<std::size_t>(rank)].cells;
  Truth out;
  for (std::size_t chunk = 0; chunk < cells.size(); ++chunk) {
    if (cells[chunk].count() == schedule.ranks) out.accepted.push_back(fmt::format("chunk {}", chunk));
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
  const auto worst = std::ranges::max_element(
      sums.steps, [](const AllReduceStep& one, const AllReduceStep& two) { return one.wrong < two.wrong; });
  const auto wrong_steps =
      std::ranges::count_if(sums.steps, [](const AllReduceStep& step) { return step.wrong > 0; });
  const bool agrees = std::ranges::all_of(sums.steps, [](const AllReduceStep& step) { return step.agrees; });
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

/// A bandwidth that is less than this part of the other one has fallen.
constexpr double kFallen = 0.85;
constexpr const char* kFitted[] = {"latency", "bandwidth"};

double smallest_us(const AllReduceRun& run) { return run.medians().front().time_us; }
double largest_us(const AllReduceRun& run) { return run.medians().back().time_us; }

/// As lessons name sizes: "4 MiB".
std::string size_text(double bytes) {
  constexpr double kKiB = 1024, kMiB = kKiB * 1024;
  const auto is_whole = [&](double unit) { return std::fmod(bytes, unit) == 0; };
  if (is_whole(kMiB)) return fmt::format("{:g} MiB", bytes / kMiB);
  if (is_whole(kKiB)) return fmt::format("{:g} KiB", bytes / kKiB);
  return human_bytes(static_cast<std::uint64_t>(bytes));
}

/// Two runs with their times of the largest buffer.
struct TwoTimes {
  NamedRun base, other;
  AllReduceRun base_run, other_run;
  Compared largest;
};

TwoTimes two_times(const RuleInput& input) {
  TwoTimes out;
  out.base = timed_run(input, input.argument("base"));
  out.other = timed_run(input, input.argument("other"));
  out.base_run = all_reduces_of(out.base);
  out.other_run = all_reduces_of(out.other);
  const double one = out.base_run.medians().back().bytes, two = out.other_run.medians().back().bytes;
  if (one != two)
    throw Cannot{fmt::format("the largest buffer of `{}` has {}, that of `{}` {}", out.base.name,
                             size_text(one), out.other.name, size_text(two)),
                 out.other.name};
  out.largest = compare_runs(out.base, over_all_reduces(out.base, largest_us), out.other,
                             over_all_reduces(out.other, largest_us));
  return out;
}

Truth truth_of_two(const TwoTimes& two) {
  Truth out;
  out.figures = {
      {"size", size_text(two.base_run.medians().back().bytes)},
      {"ratio", fmt::format("{:.2f}", two.largest.ratio)},
      {"base_ms", ms_text(largest_us(two.base_run))},
      {"other_ms", ms_text(largest_us(two.other_run))},
      {"base_small_ms", ms_text(smallest_us(two.base_run))},
      {"other_small_ms", ms_text(smallest_us(two.other_run))},
      {"small_ratio", fmt::format("{:.2f}", smallest_us(two.other_run) / smallest_us(two.base_run))},
      {"base_ranks", std::to_string(two.base_run.ranks)},
      {"other_ranks", std::to_string(two.other_run.ranks)}};
  out.text =
      fmt::format("{}: {} ms in `{}`, {} ms in `{}`, {} times", out.figures["size"], out.figures["base_ms"],
                  two.base.name, out.figures["other_ms"], two.other.name, out.figures["ratio"]);
  out.source = source_of(two.base);
  return out;
}

Truth made_all_reduce_truth(const RuleInput& input) {
  return made_truth_of(input, {"the largest buffer", Quantity::time, /*is_timed=*/true, /*wants_more=*/false,
                               [](const NamedRun& run) { return over_all_reduces(run, largest_us); }});
}

bool asks_latency(const Question& question) { return question.argument("what") == kFitted[0]; }

LinkFit fit_of(const NamedRun& run, const AllReduceRun& times) {
  const std::optional<LinkFit> fit = fit_link(times.kind, times.ranks, times.times());
  if (!fit) throw Cannot{fmt::format("`{}` has no two sizes between several ranks", run.name), run.name};
  if (!(fit->link.bytes_per_us > 0))
    throw Cannot{fmt::format("in `{}` larger buffers take no longer", run.name), run.name};
  return *fit;
}

Truth all_reduce_ratio_truth(const RuleInput& input) {
  const TwoTimes two = two_times(input);
  Truth out = truth_of_two(two);
  set_interval(out, in_unit(input.question, Quantity::ratio, two.largest.ratio),
               std::min(two.largest.ratio, two.largest.low), std::max(two.largest.ratio, two.largest.high));
  return out;
}

Truth bandwidth_falls_truth(const RuleInput& input) {
  const TwoTimes two = two_times(input);
  Truth out = truth_of_two(two);
  const auto set = [&](const char* name, const AllReduceRun& run) {
    const TimedSize largest = run.medians().back();
    out.figures[std::string(name) + "_algbw"] =
        figure_text(algorithm_bandwidth(largest.bytes, largest.time_us));
    out.figures[std::string(name) + "_busbw"] =
        figure_text(bus_bandwidth(run.ranks, largest.bytes, largest.time_us));
  };
  set("base", two.base_run);
  set("other", two.other_run);
  const double algbw = 1 / two.largest.ratio;
  const double busbw = algbw * ring_bytes(two.other_run.ranks, 1) / ring_bytes(two.base_run.ranks, 1);
  out.accepted = {algbw < kFallen   ? (busbw < kFallen ? "both" : "algbw")
                  : busbw < kFallen ? "busbw"
                                    : "neither"};
  out.text = fmt::format("algbw {} and busbw {} MB/s in `{}`, {} and {} MB/s in `{}`",
                         out.figures["base_algbw"], out.figures["base_busbw"], two.base.name,
                         out.figures["other_algbw"], out.figures["other_busbw"], two.other.name);
  return out;
}

void check_bandwidth_falls(const Question& question) {
  check_choice_keys(question, {"algbw", "busbw", "both", "neither"});
}

void check_link_fit(const Question& question) {
  const std::string what = question.argument("what");
  if (std::ranges::find(kFitted, what) == std::end(kFitted))
    wrong_question(question, "a link has no \"" + printable(what, 60) + "\"", "latency or bandwidth");
  in_unit(question, asks_latency(question) ? Quantity::time : Quantity::byte_rate, 0);
}

Truth link_fit_truth(const RuleInput& input) {
  check_link_fit(input.question);
  const NamedRun run = timed_run(input, input.argument("run"));
  const AllReduceRun first = all_reduces_of(run);
  const LinkFit fit = fit_of(run, first);
  const bool latency = asks_latency(input.question);
  const Spread values = over_all_reduces(run, [&](const AllReduceRun& one) {
    const Link link = fit_of(run, one).link;
    return latency ? link.latency_us : link.bytes_per_us * 1e6;
  });
  Truth out = truth_of(input.question, latency ? Quantity::time : Quantity::byte_rate, values);
  out.number =
      in_unit(input.question, latency ? Quantity::time : Quantity::byte_rate,
              latency ? fit.link.latency_us : fit.link.bytes_per_us * 1e6);  // the number in the texts
  out.figures = {
      {"latency_ms", ms_text(fit.link.latency_us)},      {"bandwidth_mb", figure_text(fit.link.bytes_per_us)},
      {"sizes", std::to_string(fit.medians.size())},     {"small", size_text(fit.medians.front().bytes)},
      {"large", size_text(fit.medians.back().bytes)},    {"small_ms", ms_text(fit.medians.front().time_us)},
      {"large_ms", ms_text(fit.medians.back().time_us)}, {"worst", percent_text(fit.worst)}};
  out.text =
      fmt::format("a latency of {} ms and {} MB/s fit {} sizes, within {} %", out.figures["latency_ms"],
                  out.figures["bandwidth_mb"], out.figures["sizes"], out.figures["worst"]);
  out.source = source_of(run);
  return out;
}

Truth ring_overtakes_truth(const RuleInput& input) {
  const auto [base, other] = timed_pair(input);
  const AllReduceRun ring = all_reduces_of(base), tree = all_reduces_of(other);
  if (ring.kind != AllReduceKind::ring || tree.kind != AllReduceKind::tree)
    throw Cannot{fmt::format("`{}` is a {} and `{}` a {}: a ring and a tree are needed", base.name,
                             name_of(ring.kind), other.name, name_of(tree.kind))};
  std::vector<double> crossings;
  for (std::size_t i = 0; i < std::min(base.run->folders.size(), other.run->folders.size()); ++i) {
    if (const auto bytes = measured_crossing_bytes(all_reduces_of(base, i), all_reduces_of(other, i)))
      crossings.push_back(*bytes);
  }
  if (crossings.empty())
    throw Cannot{fmt::format("one of `{}` and `{}` is quicker at all of their sizes", base.name, other.name)};
  const Spread values(crossings);
  Truth out = truth_of(input.question, Quantity::bytes, values);
  out.figures = {
      {"value", figure_text(values.median() * 1e-3)},    {"small", size_text(ring.medians().front().bytes)},
      {"large", size_text(ring.medians().back().bytes)}, {"ring_small_ms", ms_text(smallest_us(ring))},
      {"tree_small_ms", ms_text(smallest_us(tree))},     {"ring_large_ms", ms_text(largest_us(ring))},
      {"tree_large_ms", ms_text(largest_us(tree))}};
  out.text = fmt::format("the ring is quicker from {} KB on", out.figures["value"]);
  out.source = source_of(base);
  return out;
}

void check_quickest(const Question& question) {
  check_choice_keys(question, {kAllReduceKinds.begin(), kAllReduceKinds.end()});
}

Truth quickest_truth(const RuleInput& input) {
  const double ranks = number_argument(input, "ranks"), bytes = number_argument(input, "mb") * 1e6;
  const Link link = link_of(number_argument(input, "latency_us"), number_argument(input, "gbit_per_s"));
  if (ranks < 2 || ranks > 1e6 || ranks != std::floor(ranks) || !(bytes > 0) || !(link.bytes_per_us > 0) ||
      link.latency_us < 0)
    wrong_question(input, "these ranks, bytes and this link make no all-reduce",
                   "2 ranks or more, mb and gbit_per_s above 0, latency_us from 0 on");
  Truth out;
  double least_us = std::numeric_limits<double>::infinity();
  std::vector<std::string> said;
  for (const AllReduceKind kind : {AllReduceKind::ring, AllReduceKind::tree, AllReduceKind::naive}) {
    const double time_us = all_reduce_us(kind, link, static_cast<int>(ranks), bytes);
    if (time_us < least_us) out.accepted = {name_of(kind)};
    least_us = std::min(least_us, time_us);
    out.figures[std::string(name_of(kind)) + "_us"] = fmt::format("{:.0f}", time_us);
    said.push_back(fmt::format("{} {:.0f} us", name_of(kind), time_us));
  }
  out.figures["levels"] = std::to_string(tree_levels(static_cast<int>(ranks)));
  out.figures["messages"] = std::to_string(ring_messages(static_cast<int>(ranks)));
  out.text = joined(said);
  out.source = "by formula";
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"all_reduce_ratio",
   "how many times as long the largest buffer takes in `other` as in `base`",
   {number}, {"base", "other"}, {}, all_reduce_ratio_truth, always_timed, check_unit<Quantity::ratio>},
  {"all_reduce_sums",
   "what becomes of the sums of `run`: right, wrong (the same on all ranks), apart (each rank holds "
   "others); of one that is to fail: named (the error names run.fault_rank), failed. `base`: a run whose time "
   "stands beside it",
   {choice}, {"run"}, {"base"}, all_reduce_sums_truth},
  {"bandwidth_falls",
   "which bandwidth of the largest buffer is lower in `other` than in `base`: algbw, busbw, both, "
   "neither",
   {choice}, {"base", "other"}, {}, bandwidth_falls_truth, always_timed, check_bandwidth_falls},
  {"chunk_owner",
   "the chunk whose whole sum `rank` has after the reduce phase, as the run's messages tell: chunk 0, "
   "chunk 1, ...",
   {choice}, {"run", "rank"}, {}, chunk_owner_truth},
  {"link_fit",
   "the latency or bandwidth of the link that fits the run's times over sizes",
   {number}, {"run", "what"}, {}, link_fit_truth, always_timed, check_link_fit},
  {"made_all_reduce",
   "runs of the learner's: the time of the largest buffer, of one from `least` to `most` ms, of two so many `times` "
   "as long as in that with the setting `wins`; `keeps` and `differ` as in made",
   {make}, {}, {"least", "most", "times", "wins", "keeps", "differ"}, made_all_reduce_truth, always_timed,
    check_made_arguments},
  {"quickest_all_reduce",
   "the all-reduce that takes the least time by the alpha-beta model: ring, tree, naive",
   {choice}, {"ranks", "mb", "latency_us", "gbit_per_s"}, {}, quickest_truth, nullptr, check_quickest},
  {"ring_overtakes",
   "the size from which the ring of `base` is quicker than the tree of `other`",
   {number}, {"base", "other"}, {}, ring_overtakes_truth, always_timed, check_unit<Quantity::bytes>},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_09
