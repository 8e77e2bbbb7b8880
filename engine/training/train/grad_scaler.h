#pragma once
// Dynamic loss scaling for fp16 (Micikevicius et al. 2018, section 3.2; the rules are those of PyTorch's
// GradScaler). fp16 has no value but 0 below 6e-8: the loss is multiplied by a large scale, so that small
// gradients survive, and gradients are divided by it before they are used. A step whose gradients overflowed
// is skipped and the scale lowered; after a while without overflow it is raised again.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "core/seam.h"
#include "model/parameters.h"
#include "train/named_tensors.h"

namespace isobar {

/// What a scaler keeps: scalars on its device.
struct ScalerTensors {
  at::Tensor scale;       ///< float32
  at::Tensor good_steps;  ///< int32: since the scale last changed
  at::Tensor overflow;    ///< float32, of the last step: not 0 = a gradient is not finite
};

/// What a step does with the state; each of the three once, in this order.
class ScalingRule {
 public:
  virtual ~ScalingRule() = default;
  virtual at::Tensor scale(const at::Tensor& loss, const ScalerTensors& state) = 0;
  /// Divides in place and fills `overflow`.
  virtual void unscale(const at::Tensor& gradients, ScalerTensors& state) = 0;
  /// Changes scale and good steps by `overflow`.
  virtual void update(ScalerTensors& state) = 0;
};

namespace seams {

/// PyTorch's rule.
extern constinit Seam<std::unique_ptr<ScalingRule>(const AmpConfig& config)> scaling_rule;

}  // namespace seams

class GradScaler {
 public:
  /// Scales for amp.mode = fp16 only; with any other mode every call below does nothing. All state is on
  /// `device`.
  GradScaler(const AmpConfig& config, c10::Device device);

  bool active() const { return active_; }

  /// loss x scale: what backward starts from.
  at::Tensor scale(const at::Tensor& loss) const;

  /// Divides all gradients that this process updates with by the scale, in place, and returns whether all of
  /// them are finite: only then may the optimiser use them. Waits for the device. True when it is not active.
  bool unscale(Parameters& parameters);

  /// After each step, made or skipped: scale x backoff after an overflow; scale x growth after
  /// growth_interval steps without one. Does not wait for the device.
  void update();

  /// float32 scalars on the device, for kernels that unscale and skip by themselves. `overflow` is what
  /// `update` goes by: not 0 = a gradient of this step is not finite.
  const at::Tensor& scale_value() const { return state_.scale; }
  at::Tensor& overflow() { return state_.overflow; }

  /// [3] float64 on the device: scale, steps skipped so far, steps skipped in a row. For the stream.
  at::Tensor report() const;

  /// All that the next step depends on, for a checkpoint; empty when it is not active.
  std::vector<NamedTensor> state() const;

 private:
  bool active_;
  std::unique_ptr<ScalingRule> rule_;  ///< null when it is not active
  ScalerTensors state_;
  at::Tensor skipped_;  ///< [2] float64: so far, in a row
};

}  // namespace isobar
