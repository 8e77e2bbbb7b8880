#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "08_cuda_graphs/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::unique_ptr<RecordedStep> (*make_recorded_step)(GraphDevice& device, StepWork work,
                                                      std::int64_t warmup);
};

}  // namespace isobar::exercise
