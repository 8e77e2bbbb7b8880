#pragma once
// A plot in the window: drawing, hovering, zooming, exporting.
#include <functional>
#include <optional>
#include <string>

#include "plot/plot.h"
#include "widgets/ui.h"

namespace isobar {

enum class ExportKind { svg, png, csv };

/// What the user asked of a plot.
struct PlotAsk {
  std::optional<ExportKind> save = {};
  Box box;  ///< where the plot is on the screen
};

/// Three menu entries: save as SVG, PNG, CSV. What was chosen, if anything.
std::optional<ExportKind> save_entries(Ui& ui);

/// A menu of its own that a right click into `box` opens.
std::optional<ExportKind> save_menu(Ui& ui, const Box& box);

/// Draws the plot in `size` at the cursor. Ctrl and the wheel zoom at the mouse, dragging pans, shift and
/// dragging selects, a double click or F fits, L makes y logarithmic; a right click opens a menu.
PlotAsk show_plot(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size);

/// Shows a picture of another kind: `paint` draws it and returns where its axes lie, so that one
/// crosshair crosses them.
PlotAsk show_plot(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size,
                  const std::function<PlotLayout(Canvas&, const Box&)>& paint);

/// A small plot for what changes little: its title, what it comes to (`value`), and the lines without axes.
PlotAsk show_spark(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size,
                   const std::string& value);

/// A drawing of this size in pixels as the bytes of an SVG or PNG file: by itself, without what lies over it
/// on the screen. `paint` draws from 0, 0.
std::string drawing(Ui& ui, ExportKind kind, float width, float height,
                    const std::function<void(Canvas&)>& paint);

/// The picture or the table of a plot as the bytes of a file.
std::string plot_file(Ui& ui, ExportKind kind, const PlotSpec& spec, const PlotView& view,
                      const PlotLink& link, float width, float height);

}  // namespace isobar
