#pragma once
// Any number of runs side by side: curves over each other, keys that differ, throughput.
#include "state/comparison.h"
#include "state/state.h"

namespace isobar {

/// All keys, those that differ first, each group sorted. What belongs to the moment (environment, times)
/// comes last.
std::vector<KeyRow> key_rows(const Runs& runs);

Requests draw_compare(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
