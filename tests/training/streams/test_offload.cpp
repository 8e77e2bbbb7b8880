// States in host memory on a device with streams: copies run beside the host on a stream of their own, and
// nothing leans on an order that nobody asked for.
#include <ATen/ops/arange.h>
#include <ATen/ops/concat.h>

#include <vector>

#include "shard/sharded_states.h"
#include "support/small_vit.h"
#include "train/host_adam.h"
#include "training/streams/checked_device.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

constexpr VitShape kOffloadVit = {
    .height = 8, .width = 16, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 2};

/// The weights after three updates with made-up gradients.
at::Tensor updated(c10::Device device) {
  Config config;
  config.mesh.zero = 1;
  config.comm.bucket_mb = 0.01;
  Comm alone;
  Parameters parameters;
  const FusedVit vit(parameters, kOffloadVit, config.fusion, AttentionKind::math);
  ShardedStates states(parameters, alone, config);
  parameters.materialise(3, device);
  HostAdam adam(parameters, config.optim, config.fusion, {}, OffloadKind::optimizer);
  GradScaler scaler({.mode = AmpMode::none}, device);
  for (int step = 0; step < 3; ++step) {
    const at::Tensor made = at::arange(parameters.gradients().numel(), at::kFloat).add(step).sin().mul(0.01);
    at::Tensor(parameters.gradients()).copy_(made);
    adam.step(1e-3, scaler);
    at::Tensor(parameters.gradients()).zero_();  // what comes down has come before
  }
  return parameters.values().cpu();
}

/// All weights after three updates, gathered unit by unit and rounded, from shares in host memory.
at::Tensor gathered_in_16(c10::Device device) {
  Config config;
  config.mesh.zero = 3;
  config.mesh.offload = OffloadKind::weights;
  config.mesh.gather_dtype = GradBits::bits_16;
  config.amp.mode = AmpMode::bf16;
  Comm alone;
  Parameters parameters;
  const FusedVit vit(parameters, kOffloadVit, config.fusion, AttentionKind::math);
  ShardedStates states(parameters, alone, config);
  parameters.materialise(3, device);
  HostAdam adam(parameters, config.optim, config.fusion, {}, OffloadKind::weights);
  GradScaler scaler({.mode = AmpMode::none}, device);
  std::vector<at::Tensor> out;
  for (int step = 0; step < 3; ++step) {
    for (const ParameterBucket& bucket : parameters.buckets())
      at::Tensor(bucket.own_gradients).copy_(at::arange(bucket.part, at::kFloat).add(step).sin().mul(0.01));
    adam.step(1e-3, scaler);
    out.clear();
    const std::size_t units = parameters.buckets().size();
    for (std::size_t i = 0; i < 2 * units; ++i) {  // for two forward passes
      const std::size_t unit = i % units;
      states.begin_forward(unit);
      out.push_back(parameters.buckets()[units - 1 - unit].values.tensor().clone());
      states.end_forward(unit);
    }
  }
  return at::concat(out).cpu();
}

}  // namespace

TEST_CASE(
    "states in host memory are updated as on a processor, to the bit, with copies on a stream of their own") {
  const at::Tensor of_cpu = updated(c10::kCPU);
  check_right([&] { CHECK(updated(kHostDevice).equal(of_cpu)); }, 10);
}

TEST_CASE("weights in host memory are rounded there, and no gather overwrites what is still on its way up") {
  const at::Tensor of_cpu = gathered_in_16(c10::kCPU);
  check_right([&] { CHECK(gathered_in_16(kHostDevice).equal(of_cpu)); }, 10);
}
