#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "02_workers/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::unique_ptr<BatchQueue> (*make_read_ahead)(Fill fill, const QueueSetting& setting);
};

}  // namespace isobar::exercise
