#include "shard/weight_gathers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <fmt/format.h>

#include <exception>

#include "core/clock.h"
#include "device/memory.h"
#include "device/precision.h"
#include "device/stream.h"

namespace isobar {
namespace {

/// `tensor` under a version counter of its own: what autograd has saved of it is not taken for changed.
at::Tensor unwatched(const at::Tensor& tensor) { return tensor.variable_data(); }

}  // namespace

WeightGathers::WeightGathers(Parameters& parameters, Comm& comm, const Config& config, WaitLog& log)
    : parameters_(parameters), comm_(comm), log_(log), type_(travels_as(config)) {}

WeightGathers::~WeightGathers() {
  for (Held& held : held_) {
    try {
      held.work.wait();
    } catch (const std::exception&) {  // the first error has been reported
      continue;
    }
  }
}

std::optional<at::ScalarType> WeightGathers::travels_as(const Config& config) {
  return config.mesh.gather_dtype == GradBits::bits_16 ? half_type(config.amp.mode) : std::nullopt;
}

void WeightGathers::make_room() {
  if (held_.empty()) held_.resize(parameters_.buckets().size());
}

at::Tensor WeightGathers::filled_part(std::size_t index, const at::Tensor& whole) {
  const ParameterBucket& bucket = parameters_.buckets()[index];
  const SharedLayout& layout = parameters_.shared_layout();
  const at::Tensor out = whole.narrow(0, layout.part * bucket.part, bucket.part);
  at::Tensor from = stale_.defined() ? stale_.narrow(0, bucket.own_begin, bucket.part) : bucket.own_values;
  if (out.const_data_ptr() == from.const_data_ptr()) return out;
  if (layout.host_values && type_) from = rounded_on_host(held_[index], from);
  const std::int64_t begin_us = steady_us();
  unwatched(out).copy_(from, /*non_blocking=*/true);  // behind what the stream has before it
  if (!layout.host_values) return out;
  if (type_ && has_streams(out.device())) {
    std::optional<c10::Event>& uploaded = held_[index].uploaded;
    if (!uploaded) uploaded.emplace(out.device().type());
    uploaded->record(current_stream(out.device()));
  }
  layout.sharer->offloaded(Offloaded::up, begin_us, steady_us(), static_cast<std::int64_t>(from.nbytes()));
  return out;
}

at::Tensor WeightGathers::rounded_on_host(Held& held, const at::Tensor& values) const {
  if (!held.rounded.defined())
    held.rounded = host_tensor(values.numel(), parameters_.options().device(), *type_);
  if (held.uploaded) held.uploaded->synchronize();  // what was there before is on its way no longer
  held.rounded.copy_(values);
  return held.rounded;
}

void WeightGathers::make_half(std::size_t bucket, at::ScalarType type) {
  ElasticTensor& half = held_[bucket].half;
  if (!half.tensor().defined() || half.tensor().scalar_type() != type)
    half = ElasticTensor(parameters_.buckets()[bucket].count, parameters_.options().dtype(type));
  half.take();
}

void WeightGathers::start(std::size_t bucket) {
  make_room();
  Held& held = held_[bucket];
  ParameterBucket& place = parameters_.buckets()[bucket];
  if (held.work.is_open() || place.values.has_memory()) return;
  const at::NoGradGuard no_grad;
  if (type_) {
    make_half(bucket, *type_);
  } else {
    place.values.take();
  }
  // Gloo copies what arrives by tensor operations, and views of it may be saved for backward.
  const at::Tensor whole = unwatched(type_ ? held.half.tensor() : place.values.tensor());
  const at::Tensor shared = place.shared(whole, comm_.size());
  held.work = comm_.all_gather(shared, filled_part(bucket, whole), fmt::format("gather {}", bucket));
  held.number = log_.started([this, bucket] { land(bucket); });
}

void WeightGathers::need(std::size_t bucket) {
  start(bucket);
  log_.land(held_[bucket].number);
}

void WeightGathers::land(std::size_t bucket) {
  Held& held = held_[bucket];
  ParameterBucket& place = parameters_.buckets()[bucket];
  log_.wait(held.work);
  const at::NoGradGuard no_grad;
  const std::int64_t shared = comm_.size() * place.part;
  if (type_) place.values.take();
  const at::Tensor values = unwatched(place.values.tensor());
  if (type_) values.narrow(0, 0, shared).copy_(held.half.tensor().narrow(0, 0, shared));
  if (shared < place.count) values.narrow(0, shared, place.count - shared).zero_();
  if (stale_.defined()) {
    const std::int64_t part = parameters_.shared_layout().part;
    values.narrow(0, part * place.part, place.part).copy_(place.own_values);
  }
  if (cast_type_ && (!type_ || stale_.defined() || shared < place.count)) {
    make_half(bucket, *cast_type_);
    unwatched(held.half.tensor()).copy_(values);
  }
}

void WeightGathers::release(std::size_t bucket) {
  make_room();
  Held& held = held_[bucket];
  log_.land(held.number);
  held.half.release();
  parameters_.buckets()[bucket].values.release();
}

at::Tensor WeightGathers::cast(std::size_t bucket, const at::Tensor& leaf, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  ParameterBucket& place = parameters_.buckets()[bucket];
  Held& held = held_[bucket];
  cast_type_ = type;
  const bool is_there = held.half.has_memory() && held.half.tensor().scalar_type() == type;
  if (!is_there) {
    make_half(bucket, type);
    unwatched(held.half.tensor()).copy_(place.values.tensor());
  }
  const std::int64_t begin = leaf.storage_offset();
  return held.half.tensor().narrow(0, begin, leaf.numel()).view(leaf.sizes());
}

void WeightGathers::gather_all() {
  make_room();
  const at::NoGradGuard no_grad;
  constexpr std::size_t kAtOnce = 2;  // what travels in 16 bits has memory of its own
  const std::vector<ParameterBucket>& buckets = parameters_.buckets();
  const auto land = [&](std::size_t bucket) {
    Held& held = held_[bucket];
    log_.wait(held.work);
    const at::Tensor whole = parameters_.whole_values(buckets[bucket]);
    if (type_) {
      const at::Tensor shared = buckets[bucket].shared(whole, comm_.size());
      unwatched(shared).copy_(held.half.tensor().narrow(0, 0, shared.numel()));
    }
    held.half.release();
  };
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    if (type_) make_half(bucket, *type_);
    const at::Tensor whole = type_ ? held_[bucket].half.tensor() : parameters_.whole_values(buckets[bucket]);
    held_[bucket].work = comm_.all_gather(buckets[bucket].shared(whole, comm_.size()),
                                          filled_part(bucket, whole), fmt::format("gather {}", bucket));
    if (bucket + 1 >= kAtOnce) land(bucket + 1 - kAtOnce);
  }
  for (std::size_t bucket = buckets.size() - std::min(buckets.size(), kAtOnce - 1); bucket < buckets.size();
       ++bucket)
    land(bucket);
}

void WeightGathers::keep_stale() {
  std::vector<at::Tensor> own;
  for (const ParameterBucket& bucket : parameters_.buckets()) own.push_back(bucket.own_values);
  stale_ = at::concat(own);
}

}  // namespace isobar
