// Lesson 04: a loss scale that is lowered after an overflow and raised after many good steps.
// exercise.h says what is given and what is promised; ./isobar check 04_amp looks at what you wrote.
#include <cmath>

#include "04_amp/exercise/exercise.h"

namespace isobar::mine {

using exercise::ScalerSetting;
using exercise::ScalerState;

class Scaler : public exercise::LossScaler {
 public:
  Scaler(const ScalerSetting& setting, const ScalerState& state) : setting_(setting), state_(state) {}

  float scale(float loss) const override {
    // BEGIN What does backward start from?
    //> return loss;
    return loss * state_.scale;
    // END
  }

  bool unscale(std::span<float> gradients) override {
    // BEGIN Divide each gradient by the scale, and set has_overflowed_ for update(): what is not finite?
    //> return true;
    has_overflowed_ = false;
    for (float& gradient : gradients) {
      if (!std::isfinite(gradient)) has_overflowed_ = true;
      gradient /= state_.scale;
    }
    return !has_overflowed_;
    // END
  }

  void update() override {
    // BEGIN Back off after an overflow, grow after setting_.growth_interval good steps in a row.
    if (has_overflowed_) {
      multiply_scale(setting_.backoff);
      state_.good_steps = 0;
      return;
    }
    if (++state_.good_steps < setting_.growth_interval) return;
    multiply_scale(setting_.growth);
    state_.good_steps = 0;
    // END
  }

  ScalerState state() const override { return state_; }

 private:
  void multiply_scale(double factor) {
    // BEGIN Multiply state_.scale, unless that would make it infinite or zero.
    const auto scale = static_cast<float>(state_.scale * factor);
    if (std::isfinite(scale) && scale > 0) state_.scale = scale;
    // END
  }

  const ScalerSetting setting_;
  ScalerState state_;
  bool has_overflowed_ = false;  ///< in this step
};

std::unique_ptr<exercise::LossScaler> make_scaler(const ScalerSetting& setting, const ScalerState& state) {
  return std::make_unique<Scaler>(setting, state);
}

}  // namespace isobar::mine
