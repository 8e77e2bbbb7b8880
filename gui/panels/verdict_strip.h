#pragma once
// What bounds the run that is watched, what to notice, and the next step at a click.
#include "state/state.h"
#include "widgets/ui.h"

namespace isobar {

/// Nothing while no step behind the warm-up is known.
void draw_verdict(Ui& ui, const Data& data, const std::shared_ptr<const RunEntry>& run, AppState& state,
                  Requests& ask);

}  // namespace isobar
