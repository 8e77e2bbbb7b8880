#pragma once
// Input, target, prediction and error of one validation sample, channel by channel.
#include "state/state.h"

namespace isobar {

/// What the view wants the feed to read; "" for the run when there is nothing.
std::pair<std::string, std::int64_t> wanted_fields(const Data& data, const AppState& state);

Requests draw_maps(Ui& ui, const Data& data, AppState& state);

}  // namespace isobar
