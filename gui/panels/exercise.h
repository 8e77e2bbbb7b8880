#pragma once
// The part of a lesson that the learner writes, and the tour through its code.
#include "state/state.h"

namespace isobar {

/// Text, state of each check, what the first one that does not hold says, and buttons: put in place, check,
/// one hint more, what was changed, open in the editor.
Requests draw_exercise(Ui& ui, const Data& data, const std::string& lesson);

/// Its stops as links; nothing where the lesson has no tour.
Requests draw_tour(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
