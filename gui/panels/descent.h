#pragma once
// Lesson 00, live: the path over the contours of the loss, taken step by step, from a start that is dragged.
#include "state/state.h"

namespace isobar {

Requests draw_descent(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
