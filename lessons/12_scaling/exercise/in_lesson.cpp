// ./isobar run 12_scaling --mine: gradients are cut into buckets of the size at which the learner's
// simulation has the shortest step over the emulated link, by the times of the second step on rank 0.
#include <algorithm>
#include <utility>

#include "12_scaling/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "run/run_plan.h"
#include "train/bucket_parts.h"

using namespace isobar;

namespace {

/// All ranks are as fast as rank 0. A bucket waits for the last of its gradients, whatever their order.
double predicted_us(const std::vector<PlannedBucket>& plan, const GradientOrder& order,
                    const exercise::Machine& machine, int ranks) {
  exercise::UnevenStep step;
  exercise::RankTimes times{.ready_us = {}, .backward_us = order.backward_us};
  for (const PlannedBucket& bucket : plan) {
    const auto first = order.ready_us.begin() + static_cast<std::ptrdiff_t>(bucket.first);
    times.ready_us.push_back(*std::max_element(first, first + static_cast<std::ptrdiff_t>(bucket.count)));
    step.bucket_bytes.push_back(static_cast<double>(bucket.bytes));
  }
  step.ranks.assign(static_cast<std::size_t>(ranks), times);
  return own_part_as<exercise::Part>().step_us(step, machine);
}

std::vector<PlannedBucket> shortest_plan(const GradientOrder& order, const CommConfig& config, int ranks) {
  const exercise::Machine machine{.latency_us = config.link.latency_us,
                                  .measured = {{.nodes = 1, .gb_per_s = config.link.gbit_per_s / 8}}};
  const auto plan_of = [&](std::int64_t cap) { return bucket_plan(order.sizes_bytes, cap, cap); };
  std::vector<PlannedBucket> best = plan_of(mebibytes(config.bucket_mb));
  double best_us = predicted_us(best, order, machine, ranks);
  for (std::int64_t cap = mebibytes(config.bucket_mb) / 2; cap > 1024; cap /= 2) {
    std::vector<PlannedBucket> plan = plan_of(cap);
    const double us = predicted_us(plan, order, machine, ranks);
    if (!(us < best_us)) continue;
    best_us = us;
    best = std::move(plan);
  }
  return best;
}

const PluggedIn parts(seams::bucket_parts, [](const CommConfig& config, int ranks) {
  BucketParts out = own_bucket_parts(config, ranks);
  out.planner = [config, ranks,
                 steps = 0](const GradientOrder& order) mutable -> std::optional<std::vector<PlannedBucket>> {
    if (order.ready_us.empty() || ++steps < 2) return {};  // the first step is a slow one
    return shortest_plan(order, config, ranks);
  };
  return out;
});
const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.comm.link.gbit_per_s == 0)
    throw Error("your simulation has nothing to do: no link is emulated", "comm.link.gbit_per_s = 0",
                "--set comm.link.gbit_per_s=1");
});

}  // namespace
