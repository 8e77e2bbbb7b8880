// Lesson 12: a step on a machine that is not there, and what is judged from steps.
// What is given and promised stands in exercise.h; ./isobar check 12_scaling looks at what you wrote.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "12_scaling/exercise/exercise.h"

namespace isobar::mine {

using namespace exercise;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

double efficiency(ScalingKind scaling, const SeriesPoint& first, const SeriesPoint& point) {
  // BEGIN How long would `point` take without loss? Weak: as long as the first one. Strong: how long?
  //> return 0;
  const double ratio = first.step_us / point.step_us;
  return scaling == ScalingKind::weak ? ratio : ratio * first.ranks / point.ranks;
  // END
}

double study_s(const std::vector<Repeat>& repeats) {
  std::vector<double> times_s;  // one of each run that counts
  // BEGIN The mean of each run behind its first epoch, and the median of these means.
  //> return 0;
  for (const auto& [epochs_s] : repeats) {
    if (epochs_s.size() < 2) continue;
    const double sum_s = std::accumulate(epochs_s.begin() + 1, epochs_s.end(), 0.0);
    times_s.push_back(sum_s / static_cast<double>(epochs_s.size() - 1));
  }
  if (times_s.empty()) return kGap;
  std::ranges::sort(times_s);
  const std::size_t upper = times_s.size() / 2, lower = (times_s.size() - 1) / 2;
  return (times_s[lower] + times_s[upper]) / 2;
  // END
}

double bus_bandwidth(const Machine& machine, int nodes) {
  const std::vector<MeasuredBandwidth>& measured = machine.measured;
  // BEGIN Between which two measured numbers of nodes is this one? And where it is between none?
  //> return 0;
  if (nodes <= measured.front().nodes) return measured.front().gb_per_s;
  for (std::size_t i = 1; i < measured.size(); ++i) {
    const MeasuredBandwidth &below = measured[i - 1], &above = measured[i];
    if (nodes > above.nodes) continue;
    const double share = std::log(1.0 * nodes / below.nodes) / std::log(1.0 * above.nodes / below.nodes);
    return below.gb_per_s * std::pow(above.gb_per_s / below.gb_per_s, share);
  }
  return measured.back().gb_per_s;
  // END
}

double all_reduce_us(const Machine& machine, int ranks, double bytes) {
  const double n = ranks;
  // BEGIN How many messages, how many bytes a rank, and on how many nodes are the ranks?
  //> return 0;
  const int nodes = (ranks + machine.gpus_per_node - 1) / machine.gpus_per_node;
  const double bytes_per_us = 1000 * bus_bandwidth(machine, nodes);  // 1e9 bytes in 1e6 us
  return 2 * (n - 1) * machine.latency_us + 2 * (n - 1) / n * bytes / bytes_per_us;
  // END
}

std::vector<double> finishes_us(const UnevenStep& step, const Machine& machine) {
  std::vector<double> finishes;
  double free_us = 0;  // when the network has carried the bucket before
  // BEGIN A bucket waits for the network and for each rank. When does it begin, and when is it through?
  for (std::size_t bucket = 0; bucket < step.bucket_bytes.size(); ++bucket) {
    double begin_us = free_us;
    for (const RankTimes& rank : step.ranks) begin_us = std::max(begin_us, rank.ready_us[bucket]);
    const int ranks = static_cast<int>(step.ranks.size());
    free_us = begin_us + all_reduce_us(machine, ranks, step.bucket_bytes[bucket]);
    finishes.push_back(free_us);
  }
  // END
  return finishes;
}

double step_us(const UnevenStep& step, const Machine& machine) {
  const std::vector<double> finishes = finishes_us(step, machine);
  double end_us = 0;
  // BEGIN When does each rank begin to optimise, and when is the last of them done?
  const double last_us = finishes.empty() ? 0 : finishes.back();
  for (const RankTimes& rank : step.ranks)
    end_us = std::max(end_us, std::max(rank.backward_us, last_us) + rank.optimize_us);
  // END
  return end_us;
}

double noise_scale(const std::vector<SquaredNorms>& steps, int local_batch, int ranks) {
  const double b = local_batch, all = b * ranks;  // B
  double gradient = 0, noise = 0;                 // sums of G2 and of s
  // BEGIN Add up both estimates over the steps. Which ratio is the noise scale, and when is there none?
  for (const SquaredNorms& squares : steps) {
    gradient += (all * squares.mean - b * squares.local) / (all - b);
    noise += (squares.local - squares.mean) / (1 / b - 1 / all);
  }
  if (gradient <= 0) return kGap;
  // END
  return noise / gradient;
}

}  // namespace isobar::mine
