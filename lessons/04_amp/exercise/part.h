#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "04_amp/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::unique_ptr<LossScaler> (*make_scaler)(const ScalerSetting& setting, const ScalerState& state);
};

}  // namespace isobar::exercise
