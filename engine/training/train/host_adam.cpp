#include "train/host_adam.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>

#include "core/clock.h"
#include "core/error.h"
#include "device/memory.h"
#include "device/stream.h"

namespace isobar {

/// A copy under way.
struct HostAdam::Move {
  std::optional<c10::Event> done = {};  ///< none: it is done
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  std::int64_t bytes = 0;
};

namespace {

/// Copies on `side`, behind what is on the current stream, or at once where there are no streams.
template <class Move>
Move copied(at::Tensor to, const at::Tensor& from, const std::optional<c10::Stream>& side) {
  Move out;
  out.begin_us = steady_us();
  out.bytes = static_cast<std::int64_t>(from.nbytes());
  if (!side) {
    to.copy_(from);
    out.end_us = steady_us();
    return out;
  }
  c10::Event before(side->device_type());
  before.record(current_stream(side->device()));
  before.block(*side);
  const c10::StreamGuard guard(*side);
  to.copy_(from, /*non_blocking=*/true);
  out.done.emplace(side->device_type());
  out.done->record(*side);
  return out;
}

}  // namespace

HostAdam::HostAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
                   const TensorParallel& ranks, OffloadKind what)
    : FusedAdam(parameters, config, fusion, ranks, Moments::none),
      keeps_weights_(what == OffloadKind::weights),
      device_(parameters.options().device()) {
  if (!fusion.adam || config.kernel != AdamKernel::own)
    throw Error("states in host memory are updated by our own kernel", "mesh.offload",
                "fusion.adam=true and optim.kernel=own, or mesh.offload=none");
  const std::int64_t own = parameters.own_count();
  if (has_streams(device_)) side_ = side_stream(device_);
  for (at::Tensor* const part : {&gradients_, &mean_, &square_}) *part = host_tensor(own, device_);
  host_control_ = host_tensor(control_.numel(), device_);
  if (!keeps_weights_) weights_ = host_tensor(own, device_);
  fetch_weights();
}

at::Tensor HostAdam::part_of(const at::Tensor& all, const ParameterBucket& bucket) {
  return all.narrow(0, bucket.own_begin, bucket.part);
}

void HostAdam::fetch_weights() {
  if (keeps_weights_) return;
  const at::NoGradGuard no_grad;
  for (const ParameterBucket& bucket : parameters_.buckets())
    part_of(weights_, bucket).copy_(bucket.own_values);
}

void HostAdam::set_steps(std::int64_t steps) {
  FusedAdam::set_steps(steps);
  fetch_weights();
}

void HostAdam::settle(Move& move, Offloaded way) {
  if (move.done) {
    move.done->synchronize();
    move.end_us = steady_us();
  }
  parameters_.shared_layout().sharer->offloaded(way, move.begin_us, move.end_us, move.bytes);
}

void HostAdam::apply(GradScaler&) {
  control_[kSteps].add_(1).sub_(control_[kSkip]);
  const std::vector<ParameterBucket>& buckets = parameters_.buckets();
  std::vector<Move> down, up;
  const auto start_down = [&](std::size_t bucket) {
    if (bucket < buckets.size())
      down.push_back(
          copied<Move>(part_of(gradients_, buckets[bucket]), buckets[bucket].own_gradients, side_));
  };
  host_control_.copy_(control_);
  start_down(0);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (side_) start_down(i + 1);
    settle(down[i], Offloaded::down);
    const at::Tensor values = keeps_weights_ ? buckets[i].own_values : part_of(weights_, buckets[i]);
    adam({values, part_of(gradients_, buckets[i]), part_of(mean_, buckets[i]), part_of(square_, buckets[i]),
          host_control_},
         config_.beta1, config_.beta2, config_.eps);
    if (!keeps_weights_) up.push_back(copied<Move>(buckets[i].own_values, values, side_));
    if (!side_) start_down(i + 1);
  }
  for (Move& move : up) {
    if (move.done) move.done->block(current_stream(device_));
    settle(move, Offloaded::up);
  }
}

std::vector<NamedTensor> HostAdam::moments() const {
  return moments_by_parameter(parameters_, mean_, square_);
}

}  // namespace isobar
