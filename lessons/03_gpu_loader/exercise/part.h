#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "03_gpu_loader/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::unique_ptr<BatchPrefetch> (*make_prefetch)(const PrefetchParts& parts);
};

}  // namespace isobar::exercise
