#pragma once
// The lessons in order, and below them the runs: "where am I".
#include "state/state.h"

namespace isobar {

Requests draw_ladder(Ui& ui, const Data& data, AppState& state);
Requests draw_runs(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
