#pragma once
// What a step would take with other settings: knobs, and the stages that the formulas give for them.
#include "state/state.h"

namespace isobar {

Requests draw_playground(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
