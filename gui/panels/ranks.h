#pragma once
// The ranks of a run side by side.
#include "state/state.h"

namespace isobar {

/// Draws a row a rank, the sentence on communication and the one that names a straggler. The rank of a row
/// that was clicked, else -1.
int draw_ranks(Ui& ui, const RanksView& view, int chosen);

}  // namespace isobar
