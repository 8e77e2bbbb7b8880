#pragma once
// One run as it goes: losses, throughput, where the time goes, how good the forecast is.
#include "state/state.h"

namespace isobar {

Requests draw_watch(Ui& ui, const Data& data, AppState& state);

/// The row of choices that plots of a view share: x axis, logarithm, smoothing.
void draw_plot_controls(Ui& ui, AppState& state, PlotLink& link);

/// A save request for what a plot asked, drawn again as a file.
std::optional<SaveRequest> save_of_plot(Ui& ui, const PlotAsk& ask, const PlotSpec& spec,
                                        const PlotView& view, const PlotLink& link, const std::string& run);

}  // namespace isobar
