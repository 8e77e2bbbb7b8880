#pragma once
// A lesson's page with the difference to the lesson before, or any other file of the project.
#include "state/state.h"

namespace isobar {

Requests draw_code(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
