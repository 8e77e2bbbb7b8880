#pragma once
// One run as it goes: losses, throughput, where the time goes, how good the forecast is.
#include "state/state.h"

namespace isobar {

void draw_watch(Ui& ui, const Data& data, AppState& state, Requests& ask);

/// The channel whose score Watch shows.
std::string watched_channel(const AppState& state, const RunEntry& run);

/// The RMSE of a channel over the run, beside persistence and climatology.
PlotSpec rmse_plot(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run,
                   const std::string& channel);

/// The row of choices that plots of a view share: x axis, logarithm, smoothing.
void draw_plot_controls(Ui& ui, AppState& state, PlotLink& link);

/// A save request for what a plot asked, drawn again as a file.
std::optional<SaveRequest> save_of_plot(Ui& ui, const PlotAsk& ask, const PlotSpec& spec,
                                        const PlotView& view, const PlotLink& link, const std::string& run);

}  // namespace isobar
