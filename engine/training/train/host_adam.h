#pragma once
// Adam of states that lie in host memory (mesh.offload; Ren et al. 2021, "ZeRO-Offload"): gradients go down,
// the host updates, weights come up. On a CPU the host's pool is other memory of it, and copies are copies.
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"
#include "train/fused_adam.h"

namespace isobar {

/// FusedAdam's update, to the bit, of parameters that are shared out. A step moves 8 bytes for each
/// parameter that this rank owns, 4 down and 4 up (mesh.offload = optimizer), or 4 down (weights: each gather
/// of weights takes its share up, shard/weight_gathers.h). On a CUDA device on a stream of its own, bucket by
/// bucket: while one is updated the next comes down and the one before it goes up.
class HostAdam final : public FusedAdam {
 public:
  /// Error (exit code 2) where fusion.adam or optim.kernel name another kernel.
  HostAdam(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
           const TensorParallel& ranks, OffloadKind what);

  std::string why_not_captured() const override { return "mesh.offload: the host updates"; }
  /// Behind a checkpoint that was read: weights are the new ones here too.
  void set_steps(std::int64_t steps) override;
  std::vector<NamedTensor> moments() const override;

 private:
  void apply(GradScaler& scaler) override;
  void fetch_weights();
  /// The bucket's part of something that lies side by side for all of them.
  static at::Tensor part_of(const at::Tensor& all, const ParameterBucket& bucket);
  struct Move;
  void settle(Move& move, Offloaded way);

  bool keeps_weights_;  ///< host memory alone has them: nothing comes up here
  c10::Device device_;
  std::optional<c10::Stream> side_;  ///< where the device has streams
  at::Tensor weights_, gradients_, mean_, square_, host_control_;
};

}  // namespace isobar
