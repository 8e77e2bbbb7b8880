#pragma once
// What surrounds the views: the bar above, the console below, the help sheet, passing messages.
#include "state/state.h"

namespace isobar {

inline constexpr float kBarHeight = 48;
inline constexpr float kConsoleBar = 30;

/// What Stop or Space ends: the chosen run where it is live, else the one that was started here. False when
/// nothing runs.
bool ask_to_stop(const Data& data, const AppState& state, Requests& ask);

Requests draw_bar(Ui& ui, const Data& data, AppState& state);
Requests draw_console(Ui& ui, const Data& data, AppState& state);
Requests draw_help(Ui& ui, AppState& state);
Requests draw_toast(Ui& ui, AppState& state);

}  // namespace isobar
