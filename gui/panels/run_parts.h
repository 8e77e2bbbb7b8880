#pragma once
// What views of one run have in common: which run it is, how it stands, what bounds it, and its ranks.
#include "state/state.h"

namespace isobar {

/// What stands above the plots: which run it is, how it stands, and what must be known of it.
void draw_run_head(Ui& ui, const RunEntry& run);

/// "24.7 % below persistence"; "" where persistence has no error.
std::string skill_text(double rmse, double persistence);

/// What bounds the run, what to notice, and the next step at a click. Nothing while no step behind the
/// warm-up is known.
void draw_verdict(Ui& ui, const Data& data, const std::shared_ptr<const RunEntry>& run, AppState& state,
                  Requests& ask);

/// Draws a row a rank, the sentence on communication and the one that names a straggler. The rank of a row
/// that was clicked, else -1.
int draw_ranks(Ui& ui, const RanksView& view, int chosen);

}  // namespace isobar
