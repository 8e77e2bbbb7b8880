#include "compress/weight_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "device/memory_ledger.h"

namespace isobar {

WeightAverage::WeightAverage(Parameters& parameters, Comm& comm, const CommConfig& config, std::int64_t steps)
    : parameters_(parameters), comm_(comm), config_(config), steps_(steps) {
  if (!is_at_work() || !has_outer_step(config)) return;
  const MemoryScope scope(MemoryCategory::communication);
  start_ = parameters.values().detach().clone();
  velocity_ = at::zeros_like(start_);
}

SyncFigures WeightAverage::average_when_due(std::int64_t step) {
  is_averaged_ = false;
  return (step + 1) % config_.local_steps == 0 || step + 1 == steps_ ? average() : SyncFigures{};
}

SyncFigures WeightAverage::average() {
  if (!is_at_work() || std::exchange(is_averaged_, true)) return {};
  const at::NoGradGuard no_grad;
  const CommCounts before = comm_.counts();
  const at::Tensor weights = parameters_.values().detach();
  if (start_.defined()) weights.neg_().add_(start_);  // d
  const CollectiveTimes times = comm_.all_reduce(weights, Reduce::mean, "weights").wait();
  if (start_.defined()) {
    velocity_.mul_(config_.outer_momentum).add_(weights);
    start_.sub_(weights, config_.outer_lr).sub_(velocity_, config_.outer_lr * config_.outer_momentum);
    weights.copy_(start_);
  }
  const CommCounts after = comm_.counts();
  return {.total_us = times.end_us > 0 ? times.end_us - times.begin_us : -1,
          .calls = after.calls - before.calls,
          .wire_bytes = after.wire_bytes - before.wire_bytes};
}

}  // namespace isobar
