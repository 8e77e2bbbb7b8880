#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "05_fusion/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  void (*bias_gelu_forward)(std::span<const float> x, std::span<const float> bias, std::span<float> y);
  void (*bias_gelu_backward)(std::span<const float> x, std::span<const float> bias, std::span<const float> dy,
                             std::span<float> dx, std::span<float> dbias);
};

}  // namespace isobar::exercise
