#pragma once
// Lesson 09, live: chunks with their values move between ranks, step by step, forwards and back.
#include "state/state.h"

namespace isobar {

Requests draw_theatre(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
