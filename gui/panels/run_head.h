#pragma once
// What stands above the plots of a run: which one it is, how it stands, and what must be known of it.
#include "state/state.h"

namespace isobar {

void draw_run_head(Ui& ui, const RunEntry& run);

/// "24.7 % below persistence"; "" where persistence has no error.
std::string skill_text(double rmse, double persistence);

}  // namespace isobar
