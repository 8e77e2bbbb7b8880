#pragma once
// Some steps of a run with everything that ran beside the training loop, and its ranks side by side.
#include "state/state.h"

namespace isobar {

Requests draw_timeline_view(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
