#pragma once
// Measurements of several runs, started from the lesson as a terminal would.
#include "state/state.h"

namespace isobar {

Requests draw_measure(Ui& ui, const Data& data, const LessonCard& card, AppState& state);

}  // namespace isobar
