#pragma once
// How near the learner's numbers came, beside those of the formulas.
#include "state/state.h"

namespace isobar {

Requests draw_calibration(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
