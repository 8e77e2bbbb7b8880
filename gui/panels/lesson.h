#pragma once
// A lesson as a way from beat to beat: read, predict, run, reveal, break.
#include "state/state.h"

namespace isobar {

Requests draw_lesson_page(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
