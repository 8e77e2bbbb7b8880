// What is asked of my/12_simulated_step.cpp, easy things first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "12_scaling/exercise/part.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using Times = std::vector<double>;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

std::string words(const Times& values) {
  std::vector<std::string> out;
  for (const double value : values)
    out.push_back(std::isnan(value) ? std::string("NaN") : fmt::format("{:.6g}", value));
  return out.empty() ? "none" : joined(out);
}

bool is_near(double a, double b) {
  return std::isnan(b) ? std::isnan(a) : std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

/// What else it may be, by a mistake that the value shows.
struct Else {
  Times values;
  const char* look;
};

void expect_near(const Times& came, const Times& wanted, const std::string& what, const char* look,
                 const std::vector<Else>& others = {}) {
  const auto are = [&](const Times& values) { return std::ranges::equal(came, values, is_near); };
  if (are(wanted)) return;
  for (const Else& other : others)
    if (are(other.values)) look = other.look;
  not_yet({fmt::format("{} to be {}", what, words(wanted)), words(came), look});
}

// ---- What is judged ----

void check_efficiency(const Part& part) {
  for (const auto& [scaling, first, point, wanted] :
       {std::tuple{ScalingKind::weak, SeriesPoint{1, 80}, SeriesPoint{4, 100}, 0.8},
        {ScalingKind::strong, {1, 80}, {4, 25}, 0.8},
        {ScalingKind::weak, {8, 90}, {64, 120}, 0.75},
        {ScalingKind::strong, {8, 90}, {64, 15}, 0.75}}) {
    const double n = point.ranks, ratio = first.step_us / point.step_us;
    expect_near({part.efficiency(scaling, first, point)}, {wanted},
                fmt::format("{} efficiency of {} us on {} ranks, beside {} us on {},",
                            scaling == ScalingKind::weak ? "weak" : "strong", point.step_us, n, first.step_us,
                            first.ranks),
                "efficiency(): the time without loss, over the time that it took",
                {{{ratio / n}, "the ranks of the first point: they need not be one"},
                 {{ratio * first.ranks / n}, "whether N belongs to this kind of scaling"},
                 {{ratio}, "what N ranks share: without loss the step is N times shorter"},
                 {{1 / wanted}, "which of the two times goes above the line"}});
  }
}

void check_study(const Part& part) {
  std::vector<Repeat> runs = {{{9, 2.0, 2.2}}, {{30, 2.6, 3.0}}, {{8, 1.7, 1.9}}};
  expect_near({part.study_s(runs)}, {2.1},
              "the time of runs with epochs 9, 2, 2.2; 30, 2.6, 3; 8, 1.7, 1.9 s",
              "study_s(): a mean of each run's epochs, and one median of these",
              {{{4.4}, "the warm-up epoch: it is none of those that are averaged"},
               {{1.8}, "which run counts: the best of three is luck, not the machine"},
               {{6.7 / 3}, "what one slow run does to a mean of runs"},
               {{2.8}, "what stands in the middle: times in order, not runs as they came"}});
  runs.push_back({{7, 2.3, 2.3}});
  expect_near({part.study_s(runs)}, {2.2}, "the time with a fourth run of 7, 2.3, 2.3 s",
              "an even number of runs: the mean of the two in the middle");
  expect_near({part.study_s({{{9}}, {{8, 1.7, 1.9}}, {}})}, {1.8},
              "the time of runs with epochs 9; 8, 1.7, 1.9; and none", "which runs have an epoch to average",
              {{{0}, "a run that ended in its warm-up: no time is not a time of 0"}});
  for (const std::size_t ended : {0U, 1U})
    expect_near({part.study_s(std::vector<Repeat>(ended, Repeat{{9}}))}, {kGap},
                fmt::format("the time of {} runs, ended in their warm-up,", ended),
                "what stands for a missing point: NaN, which a plot leaves out");
}

// ---- What is simulated ----

const Machine kMachine{
    .gpus_per_node = 4, .latency_us = 3, .measured = {{1, 200}, {2, 96}, {8, 54}, {64, 16}}};

void check_bandwidth(const Part& part) {
  const auto expect_of = [&](const Machine& machine, int nodes, double wanted,
                             const std::vector<Else>& others = {}) {
    std::string measured;
    for (const auto& [at, gb_per_s] : machine.measured) measured += fmt::format(" {} on {},", gb_per_s, at);
    expect_near({part.bus_bandwidth(machine, nodes)}, {wanted},
                fmt::format("GB/s over {} nodes, measured:{}", nodes, measured),
                "bus_bandwidth(): a straight line between two measured points", others);
  };
  const char* const between = "what lies between two measured points: neither of them";
  expect_of(kMachine, 16, 36,
            {{{54}, between},
             {{16}, between},
             {{54 - 38.0 / 7}, "the logarithm of nodes: each doubling is a step of one length"},
             {{54 - 38.0 / 3}, "the logarithm of bandwidth, which loses a part with each step"},
             {{24}, "at which end of the line the share is 0"}});
  for (const auto& [nodes, wanted] : {std::pair{8, 54.0}, {4, 72.0}, {1, 200.0}, {64, 16.0}})
    expect_of(kMachine, nodes, wanted);
  expect_of(kMachine, 512, 16,
            {{{128.0 / 27}, "what lies above the last point: the line was measured no further"}});
  expect_of({.measured = {{4, 80}, {16, 40}}}, 1, 80,
            {{{160}, "what lies below the first point: the nearest"}});
  expect_of({.measured = {{2, 25}}}, 6, 25);
}

void check_cost(const Part& part) {
  for (const auto& [ranks, gb_per_s] : {std::pair{6, 96.0}, {4, 200.0}, {32, 54.0}, {1, 200.0}}) {
    const double n = ranks, messages = 2 * (n - 1), share = messages / n;
    const auto is = [](double m, double s, double b) { return Times{m * kMachine.latency_us + s * 8e3 / b}; };
    const auto over = [&](int nodes) { return is(messages, share, part.bus_bandwidth(kMachine, nodes)); };
    expect_near(
        {part.all_reduce_us(kMachine, ranks, 8e6)}, is(messages, share, gb_per_s),
        fmt::format("the all-reduce in us of 8 MB over {} ranks, 4 a node,", ranks),
        "all_reduce_us(): messages times latency, and bytes of a rank by bandwidth",
        {{is(messages, 2 * n / std::max(1.0, n - 1), gb_per_s), "which of N - 1 and N is above the line"},
         {is(messages, share / 2, gb_per_s), "how often the bytes travel: to add, and to spread"},
         {is(messages, 2, gb_per_s), "what a rank does not send: one chunk of N, each time"},
         {is(messages, share, gb_per_s / 8), "the unit of bandwidth: gigabytes, not gigabits"},
         {is(n, share, gb_per_s), "how many messages follow one another: 2 (N - 1)"},
         {is(n - 1, share, gb_per_s), "the messages that spread the sums: they wait as long as the first"},
         {is(0, share, gb_per_s), "the latency, which each message pays"},
         {over(ranks), "what the bandwidth was measured by: nodes, not ranks"},
         {over(ranks / kMachine.gpus_per_node), "a node that is not full: it counts as one"}});
  }
}

using Ready = double (*)(const UnevenStep& step, std::size_t bucket);

double slowest(const UnevenStep& step, std::size_t bucket) {
  double out = 0;
  for (const RankTimes& rank : step.ranks) out = std::max(out, rank.ready_us[bucket]);
  return out;
}

Times finishes(const Part& part, const UnevenStep& step, Ready ready = slowest, bool waits = true) {
  Times out;
  for (std::size_t bucket = 0; bucket < step.bucket_bytes.size(); ++bucket) {
    const double free_us = waits && bucket > 0 ? out.back() : 0;
    const int ranks = static_cast<int>(step.ranks.size());
    out.push_back(std::max(free_us, ready(step, bucket)) +
                  part.all_reduce_us(kMachine, ranks, step.bucket_bytes[bucket]));
  }
  return out;
}

void check_queue(const Part& part) {
  const RankTimes rank{.ready_us = {200, 300, 900}, .backward_us = 1000, .optimize_us = 0};
  const UnevenStep step{.bucket_bytes = {24e6, 8e6, 4e6}, .ranks = {rank, rank}};
  const auto behind = [](const UnevenStep& of, std::size_t) { return of.ranks[0].backward_us; };
  const auto at_once = [](const UnevenStep&, std::size_t) { return 0.0; };
  expect_near(part.finishes_us(step, kMachine), finishes(part, step),
              "the ends of buckets of 24, 8, 4 MB, ready at 200, 300, 900 us,",
              "finishes_us(): the later of two times, and the cost",
              {{finishes(part, step, slowest, false), "the bucket before: the network carries one at a time"},
               {finishes(part, step, behind), "what a bucket waits for: not for the end of backward"},
               {finishes(part, step, at_once), "when a bucket is there: not before its gradients"}});
}

void check_slowest(const Part& part) {
  const UnevenStep step{.bucket_bytes = {8e6, 8e6},
                        .ranks = {{{410, 800}, 880, 0}, {{430, 790}, 850, 0}, {{400, 830}, 860, 0}}};
  const auto mean = [](const UnevenStep& of, std::size_t bucket) {
    return (of.ranks[0].ready_us[bucket] + of.ranks[1].ready_us[bucket] + of.ranks[2].ready_us[bucket]) / 3;
  };
  const auto first = [](const UnevenStep& of, std::size_t bucket) { return of.ranks[0].ready_us[bucket]; };
  const auto fastest = [](const UnevenStep& of, std::size_t bucket) {
    return bucket == 0 ? of.ranks[2].ready_us[bucket] : of.ranks[1].ready_us[bucket];
  };
  expect_near(part.finishes_us(step, kMachine), finishes(part, step),
              "the ends of two buckets, ready on three ranks at 410 and 800, 430 and 790, 400 and 830 us,",
              "finishes_us(): which rank is the last one, for each bucket",
              {{finishes(part, step, mean), "whom a collective waits for: the slowest rank, not the mean"},
               {finishes(part, step, first), "all ranks: one of them decides here for all buckets"},
               {finishes(part, step, fastest), "who begins a collective: the last to come, not the first"}});
}

void check_step(const Part& part) {
  UnevenStep step{.bucket_bytes = {8e6}, .ranks = {{{700}, 900, 50}, {{650}, 820, 190}}};
  const double last = finishes(part, step)[0];
  expect_near({part.step_us(step, kMachine)}, {1010}, "a step in us whose last bucket is hidden",
              "step_us(): the end of each rank, and the last of them",
              {{{900}, "what comes behind the gradients: the optimiser of each rank"},
               {{900 + 190}, "whose optimiser begins when: each rank's behind its own backward pass"},
               {{last + 190}, "backward, which may end behind the last bucket"},
               {{900 + 50}, "all ranks: the last one to finish ends the step"}});
  step.ranks[0].ready_us = {860};
  step.bucket_bytes = {40e6};
  const double late = finishes(part, step)[0];
  expect_near({part.step_us(step, kMachine)}, {late + 190},
              "a step in us whose last bucket ends behind backward", "step_us(): what an optimiser waits for",
              {{{1010}, "communication that backward does not hide"},
               {{900 + late + 190}, "what runs at the same time: backward and the buckets"}});
  expect_near({part.step_us({.bucket_bytes = {}, .ranks = {{{}, 70, 5}, {{}, 60, 7}}}, kMachine)}, {75},
              "a step in us without buckets", "finishes.back() of no finishes");
}

/// Squares whose estimates are G2 and s.
SquaredNorms squares_of(double gradient, double noise, int local_batch, int ranks) {
  return {.local = gradient + noise / local_batch, .mean = gradient + noise / (local_batch * ranks)};
}

void check_noise(const Part& part) {
  for (const auto& [b, ranks] : {std::pair{8, 4}, {1, 2}, {32, 3}}) {
    std::vector<SquaredNorms> steps;
    double ratios = 0, raw = 0, mean = 0;
    for (const auto& [gradient, noise] : {std::pair{1.0, 60.0}, {4.0, 20.0}, {2.5, 100.0}, {0.5, 60.0}}) {
      steps.push_back(squares_of(gradient, noise, b, ranks));
      ratios += noise / gradient / 4;
      raw += steps.back().local - steps.back().mean;
      mean += steps.back().mean;
    }
    const double all = b * ranks, noise = raw / (1.0 / b - 1 / all);
    expect_near({part.noise_scale(steps, b, ranks)}, {30},
                fmt::format("the noise scale in steps of {} ranks with {} samples", ranks, b),
                "noise_scale(): both estimates of each step, and the ratio of their means",
                {{{ratios}, "the order: means first, then one ratio; small G2 rule a mean of ratios"},
                 {{raw / 8}, "what makes s of a difference: it is divided by 1/b - 1/B"},
                 {{noise / mean}, "what noise adds to |g_B|^2, which is not yet G2"},
                 {{-30}, "the sign: small batches have the larger norm"},
                 {{1.0 / 30}, "which of the two means is above the line"}});
  }
  const std::vector<SquaredNorms> drowned = {squares_of(1, 50, 4, 2), squares_of(-3, 50, 4, 2)};
  for (const auto& steps : {drowned, {}})
    expect_near({part.noise_scale(steps, 4, 2)}, {kGap},
                fmt::format("the noise scale of {} steps without a gradient above the noise", steps.size()),
                "a mean of G2 that is 0 or less: there is no noise scale");
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"efficiency", exercise::check_efficiency},
                                           {"study", exercise::check_study},
                                           {"bandwidth", exercise::check_bandwidth},
                                           {"cost", exercise::check_cost},
                                           {"queue", exercise::check_queue},
                                           {"slowest", exercise::check_slowest},
                                           {"step", exercise::check_step},
                                           {"noise", exercise::check_noise}});
}

}  // namespace isobar
