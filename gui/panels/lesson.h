#pragma once
// A lesson's page for the reader, and its code with the difference to the lesson before.
#include "state/state.h"

namespace isobar {

Requests draw_lesson_page(Ui& ui, const Data& data, AppState& state);
Requests draw_code(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
