#pragma once
// What is given and what is promised in the exercise of lesson 04. You write my/04_loss_scaler.cpp.
#include <cstdint>
#include <memory>
#include <span>

namespace isobar::exercise {

struct ScalerSetting {
  double growth = 2;                    ///< amp.growth, above 1
  double backoff = 0.5;                 ///< amp.backoff, between 0 and 1
  std::int64_t growth_interval = 2000;  ///< amp.growth_interval, at least 1
};

/// All that the next step depends on: a checkpoint keeps it.
struct ScalerState {
  float scale = 65536;          ///< above 0 and finite
  std::int64_t good_steps = 0;  ///< in a row, since the scale last changed or a step overflowed
};

/// A step calls scale, unscale and update once each, in this order.
class LossScaler {
 public:
  virtual ~LossScaler() = default;
  /// The loss from which backward starts.
  virtual float scale(float loss) const = 0;
  /// Divides the gradients by the scale, in place, and returns whether all of them are finite: the weights
  /// move only if they are. The state stays as it is: the step still has this scale.
  virtual bool unscale(std::span<float> gradients) = 0;
  /// Ends the step. If a gradient was not finite, the scale is multiplied by `backoff`; after
  /// `growth_interval` good steps in a row, by `growth`. A factor that would make it infinite or zero is left
  /// out.
  virtual void update() = 0;
  virtual ScalerState state() const = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: continues at `state`, which may come from a checkpoint.
std::unique_ptr<exercise::LossScaler> make_scaler(const exercise::ScalerSetting& setting,
                                                  const exercise::ScalerState& state);

}  // namespace isobar::mine
