// Lesson 09: times of all-reduces over their sizes, beside each other and beside the alpha-beta model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "formula/link_fit.h"

namespace isobar {
namespace {

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

bool asks_latency(const Question& question) { return question.argument("what") == kFitted[0]; }

LinkFit fit_of(const NamedRun& run, const AllReduceRun& times) {
  const std::optional<LinkFit> fit = fit_link(times.kind, times.ranks, times.times());
  if (!fit) throw Cannot{fmt::format("`{}` has no two sizes between several ranks", run.name), run.name};
  if (!(fit->link.bytes_per_us > 0))
    throw Cannot{fmt::format("in `{}` larger buffers take no longer", run.name), run.name};
  return *fit;
}

}  // namespace

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
  for (const QuestionChoice& choice : question.choices) {
    constexpr std::string_view kKeys[] = {"algbw", "busbw", "both", "neither"};
    if (std::find(std::begin(kKeys), std::end(kKeys), choice.key) == std::end(kKeys))
      wrong_question(question, "no bandwidth is called \"" + printable(choice.key, 60) + "\"",
                     "algbw, busbw, both, neither");
  }
}

void check_link_fit(const Question& question) {
  const std::string what = question.argument("what");
  if (std::find(std::begin(kFitted), std::end(kFitted), what) == std::end(kFitted))
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
  const NamedRun base = timed_run(input, input.argument("base"));
  const NamedRun other = timed_run(input, input.argument("other"));
  check_one_source(base, other);
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
  for (const QuestionChoice& choice : question.choices) {
    if (!choice_named<AllReduceKind>(choice.key))
      wrong_question(question, "there is no all-reduce \"" + printable(choice.key, 60) + "\"",
                     "ring, tree, naive");
  }
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

}  // namespace isobar
