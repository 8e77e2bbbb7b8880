#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "11_compression/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  Projection (*project)(const at::Tensor& matrix, const at::Tensor& kept);
  at::Tensor (*orthonormal)(const at::Tensor& factor);
  at::Tensor (*transform)(const at::Tensor& gradient, MatrixState& state);
  at::Tensor (*finish)(const at::Tensor& sum, int ranks, MatrixState& state);
};

}  // namespace isobar::exercise
