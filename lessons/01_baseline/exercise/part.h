#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "01_baseline/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  void (*zero_gradients)(at::Tensor& gradients);
  at::Tensor (*relative_l2)(const at::Tensor& prediction, const at::Tensor& target);
  void (*adam_step)(at::Tensor& weights, const at::Tensor& gradients, AdamState& state, double learning_rate,
                    const AdamSetting& setting);
};

}  // namespace isobar::exercise
