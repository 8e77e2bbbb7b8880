#pragma once
// The menu of presets: those that fit this machine first, each with what it is.
#include "state/state.h"

namespace isobar {

/// True when another one was picked, which `preset` then names.
bool draw_preset_menu(Ui& ui, const Data& data, const LessonCard& card, FormState& form, std::string& preset);

}  // namespace isobar
