#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "07_tensor_parallel/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  MlpWeights (*cut_mlp)(const MlpWeights& whole, const RankOfModel& rank);
  at::Tensor (*enter)(const at::Tensor& x, const RankOfModel& rank);
  at::Tensor (*leave)(const at::Tensor& part, const RankOfModel& rank);
  at::Tensor (*parallel_mlp)(const at::Tensor& x, const MlpWeights& own, const RankOfModel& rank);
};

}  // namespace isobar::exercise
