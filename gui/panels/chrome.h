#pragma once
// What surrounds the views: the bar above, the console below, the help sheet, passing messages.
#include "state.h"

namespace isobar {

inline constexpr float kBarHeight = 48;
inline constexpr float kConsoleBar = 30;

Requests draw_bar(Ui& ui, const Data& data, AppState& state);
Requests draw_console(Ui& ui, const Data& data, AppState& state);
Requests draw_help(Ui& ui, AppState& state);
void draw_toast(Ui& ui, const AppState& state);

}  // namespace isobar
