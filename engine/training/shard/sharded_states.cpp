#include "shard/sharded_states.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <utility>

#include "comm/comm_seam.h"
#include "core/error.h"
#include "device/memory_ledger.h"
#include "formula/bucket_plan.h"
#include "shard/bucket_runs.h"
#include "train/replicas.h"

namespace isobar {
namespace {

void check(const Config& config) {
  if (config.comm.sync != SyncKind::buckets)
    throw Error("ranks that share their states out average gradients in buckets of their own",
                std::string("comm.sync = ") + name_of(config.comm.sync), "comm.sync=buckets, or mesh.zero=0");
  if (config.mesh.zero > 1 && has_fault(Fault::unequal_batch))
    throw Error("run.fault = unequal_batch runs backward twice, and gradients leave with the first",
                "mesh.zero", "mesh.zero=1 or 0");
}

/// Leaves of each run of units, rising.
std::vector<std::vector<std::size_t>> leaves_of(const std::vector<ModelUnit>& units,
                                                const std::vector<std::vector<std::size_t>>& runs) {
  std::vector<std::vector<std::size_t>> out;
  for (const std::vector<std::size_t>& run : runs) {
    out.emplace_back();
    for (const std::size_t unit : run)
      out.back().insert(out.back().end(), units[unit].leaves.begin(), units[unit].leaves.end());
  }
  return out;
}

}  // namespace

ShardedStates::ShardedStates(Parameters& parameters, Comm& group, const Config& config, Comm* copies)
    : parameters_(parameters),
      group_(group),
      copies_(copies != nullptr && copies->size() > 1 ? copies : nullptr),
      config_(config),
      stage_(config.mesh.zero),
      weights_(parameters, group, config, log_) {
  const std::vector<ModelUnit> units = model_units(parameters);
  bucket_of_unit_.resize(units.size());
  if (stage_ == 0 && copies_ == nullptr) return;
  check(config);
  const std::vector<ParameterLeaf> leaves = parameters.leaves();
  std::vector<std::int64_t> bytes;
  for (const ModelUnit& unit : units) {
    bytes.push_back(0);
    for (const std::size_t leaf : unit.leaves)
      bytes.back() += leaves[leaf].tensor.numel() * static_cast<std::int64_t>(sizeof(float));
  }
  const auto runs = bucket_runs(bytes, stage_ == 3 ? 0 : mebibytes(config.comm.bucket_mb));
  for (std::size_t bucket = 0; bucket < runs.size(); ++bucket)
    for (const std::size_t unit : runs[bucket]) bucket_of_unit_[unit] = bucket;
  const bool has_masters = stage_ > 0 && stage_ < 3 && WeightGathers::travels_as(config).has_value();
  parameters.share_out({.buckets = leaves_of(units, runs),
                        .parts = group.size(),
                        .part = group.rank(),
                        .whole_values = stage_ < 3,
                        .whole_gradients = stage_ <= 1,
                        .masters = has_masters,
                        .host_values = config.mesh.offload == OffloadKind::weights,
                        .whole_updates = stage_ == 0,
                        .pads = !has_fault(Fault::no_pad),
                        .sharer = stage_ == 0 ? nullptr : this});
}

ShardedStates::~ShardedStates() = default;

void ShardedStates::settle_in() {
  if (std::exchange(settled_, true)) return;
  if (averages_by_sync()) return;
  if (parameters_.shared_layout().masters) {  // every gather leaves rounded ones
    const at::NoGradGuard no_grad;
    at::Tensor values = parameters_.values();
    values.copy_(values.to(*WeightGathers::travels_as(config_)));
  }
  shares_ = std::make_unique<GradientShares>(parameters_, group_, copies_, config_, log_);
  shares_->on_left([this](std::size_t bucket) { bucket_left(bucket); });
  const std::vector<ParameterLeaf> leaves = parameters_.leaves();
  const std::vector<ParameterBucket>& buckets = parameters_.buckets();
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
    for (const std::size_t leaf : buckets[bucket].leaves)
      bucket_of_leaf_[leaves[leaf].tensor.unsafeGetTensorImpl()] = bucket;
}

void ShardedStates::zero_gradients() {
  settle_in();
  parameters_.zero_gradients();
  if (shares_ && !parameters_.piles_up()) shares_->zeroed();
}

void ShardedStates::begin_figures(WaitLog::Phase first) {
  before_ = group_.counts();
  if (copies_ != nullptr) before_between_ = copies_->counts();
  offload_down_bytes_ = offload_up_bytes_ = 0;  // a forecast between steps is no part of one
  log_.begin(first);
}

void ShardedStates::begin(bool last_micro_batch) {
  settle_in();
  last_ = last_micro_batch;
  if (averages_by_sync() && !sync_) sync_ = make_gradient_sync(parameters_, group_, config_.comm);
  if (!std::exchange(in_step_, true)) begin_figures(WaitLog::Phase::forward);
  log_.phase = WaitLog::Phase::forward;
  if (sync_) return sync_->begin(last_micro_batch);
  if (config_.comm.broadcast_buffers) broadcast_buffers(parameters_, group_);
}

void ShardedStates::backward(const at::Tensor& loss) {
  if (sync_) {
    sync_->backward(loss);
  } else {
    const at::Tensor gradients = stage_ < 2 ? parameters_.gradients() : at::Tensor();
    group_.backward({loss, gradients, last_, [this](const at::Tensor& from) { run_backward(from); }});
  }
  cast_.reset();
}

void ShardedStates::run_backward(const at::Tensor& loss) {
  shares_->begin(last_);
  log_.phase = WaitLog::Phase::backward;
  in_backward_ = true;
  loss.backward();
  in_backward_ = false;
  // What was gathered again late, for a unit that is computed again, is old behind the update.
  for (std::size_t bucket = 0; gathers_units() && bucket < parameters_.buckets().size(); ++bucket)
    weights_.release(bucket);
  if (!last_) shares_->finish();
}

SyncFigures ShardedStates::exchange(const TensorParallel& model) {
  if (stage_ > 1)
    throw Error("gradients of all micro-batches are not kept where replicas share them out",
                fmt::format("mesh.zero = {}", stage_), "mesh.zero=1 or 0");
  settle_in();
  begin_figures(WaitLog::Phase::behind);
  if (config_.comm.broadcast_buffers) broadcast_buffers(parameters_, group_);
  if (shares_) {
    shares_->send_all();
    shares_->finish();
    if (stage_ == 0) gather_gradients();
  } else if (group_.size() > 1 && config_.comm.sync != SyncKind::none) {
    const Reduce reduce = has_fault(Fault::sum_gradients) ? Reduce::sum : Reduce::mean;
    Work work = group_.all_reduce(parameters_.gradients(), reduce, "gradients");
    log_.wait(work);
  }
  if (has_fault(Fault::stale_gather) && stage_ > 0) weights_.gather_all();
  return figures(model);
}

SyncFigures ShardedStates::finish(const TensorParallel& model) {
  if (sync_) {
    in_step_ = false;
    return sync_->finish(model);
  }
  if (!std::exchange(in_step_, false) || !last_)
    throw Error("gradients are averaged behind the backward pass of the last micro-batch",
                "no such pass was announced", "", Exit::failed);
  log_.phase = WaitLog::Phase::behind;
  shares_->finish();
  if (stage_ == 0) gather_gradients();
  if (has_fault(Fault::stale_gather)) {
    if (gathers_units()) {
      weights_.keep_stale();
    } else {
      weights_.gather_all();
    }
  }
  return figures(model);
}

void ShardedStates::gather_gradients() {
  std::vector<Work> works;
  const std::vector<ParameterBucket>& buckets = parameters_.buckets();
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
    works.push_back(
        group_.all_gather(buckets[bucket].shared(parameters_.whole_gradients(buckets[bucket]), group_.size()),
                          buckets[bucket].own_gradients, fmt::format("back {}", bucket)));
  for (Work& work : works) log_.wait(work);
}

SyncFigures ShardedStates::gather_weights() {
  if (averages_by_sync()) return {};
  log_.begin(WaitLog::Phase::behind);
  if (stage_ > 0 && !gathers_units() && !has_fault(Fault::stale_gather)) weights_.gather_all();
  return figures({});
}

void ShardedStates::offloaded(Offloaded way, std::int64_t begin_us, std::int64_t end_us, std::int64_t bytes) {
  const bool down = way == Offloaded::down;
  (down ? offload_down_bytes_ : offload_up_bytes_) += bytes;
  group_.leave_span(down ? "offload down" : "offload up", "copy", begin_us, end_us, bytes);
}

SyncFigures ShardedStates::figures(const TensorParallel& model) {
  SyncFigures out = sync_figures(log_.times, log_.stood, group_, before_, model.take_figures());
  before_ = group_.counts();
  if (config_.mesh.shard > 0) {
    out.node_calls = out.calls - out.tp_calls;
    out.node_wire_bytes = out.wire_bytes - out.tp_wire_bytes;
  }
  if (copies_ != nullptr) {
    const CommCounts now = copies_->counts();
    out.calls += now.calls - before_between_.calls;
    out.wire_bytes += now.wire_bytes - before_between_.wire_bytes;
    before_between_ = now;
    out.waited_for = -1;  // ranks of two groups have the same numbers
  }
  out.offload_down_bytes = std::exchange(offload_down_bytes_, 0);
  out.offload_up_bytes = std::exchange(offload_up_bytes_, 0);
  out.backward_wait_us = log_.backward_us;
  out.forward_wait_us = log_.forward_us;
  return out;
}

void ShardedStates::own_values_changed() {
  log_.begin(WaitLog::Phase::behind);
  if (!gathers_units()) weights_.gather_all();
}

void ShardedStates::fetch_ahead(std::int64_t first, std::int64_t step) {
  const auto units = static_cast<std::int64_t>(bucket_of_unit_.size());
  std::int64_t unit = first;
  for (std::int64_t i = 0; i < config_.mesh.prefetch && unit >= 0 && unit < units; ++i, unit += step)
    weights_.start(bucket_of_unit_[static_cast<std::size_t>(unit)]);
}

void ShardedStates::begin_forward(std::size_t unit) {
  settle_in();
  if (!gathers_units()) return;
  weights_.need(bucket_of_unit_[unit]);
  if (unit == 0 && !in_backward_) fetch_ahead(1, 1);
}

void ShardedStates::end_forward(std::size_t unit) {
  const std::size_t units = bucket_of_unit_.size();
  if (in_backward_) return;  // computed again: backward follows
  if (!gathers_units()) {
    if (!in_step_ && unit + 1 == units) cast_.reset();
    return;
  }
  if (config_.mesh.reshard || !in_step_) weights_.release(bucket_of_unit_[unit]);
  const auto index = static_cast<std::int64_t>(unit);
  if (unit + 1 < units) return fetch_ahead(index + 2, 1);
  if (!in_step_ || config_.mesh.prefetch == 0) return;
  weights_.start(bucket_of_unit_[unit]);  // with which backward begins
  fetch_ahead(index - 1, -1);
}

void ShardedStates::begin_backward(std::size_t unit) {
  if (sync_ || !shares_) return;
  const std::size_t bucket = bucket_of_unit_[unit];
  if (gathers_units()) weights_.need(bucket);
  shares_->reach(bucket);
}

void ShardedStates::bucket_left(std::size_t bucket) {
  if (!gathers_units()) return;
  weights_.release(bucket);
  // Bucket b holds unit D + 1 - b. The one in front of it computes now.
  const auto unit = static_cast<std::int64_t>(bucket_of_unit_.size() - 1 - bucket);
  fetch_ahead(unit - 2, -1);
}

at::Tensor ShardedStates::cast(const at::Tensor& leaf, at::ScalarType type) {
  settle_in();
  if (gathers_units()) return weights_.cast(bucket_of_leaf_.at(leaf.unsafeGetTensorImpl()), leaf, type);
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryCategory::weights);
  if (!cast_.defined() || cast_.scalar_type() != type) cast_ = parameters_.values().to(type);
  return cast_.narrow(0, leaf.storage_offset(), leaf.numel()).view(leaf.sizes());
}

}  // namespace isobar
