#pragma once
// Curves over a shared x axis: what to draw, how it is looked at, and the drawing itself on any canvas.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "draw/axis.h"
#include "draw/canvas.h"
#include "log/run_series.h"
#include "plot/decimate.h"

namespace isobar {

class Smoother;  // draw/band.h

/// One curve. Solid lines are measured, dashed recorded elsewhere, dotted predicted.
struct PlotLine {
  std::string id;  ///< unique in the plot, and the same in every plot that shows this run
  std::string label;
  Colour colour = 0;
  Mark mark = Mark::circle;
  Dash dash = Dash::solid;
  const Series* places = nullptr;
  const Curve* curve = nullptr;
  std::shared_ptr<const void> keep;  ///< what `places` and `curve` belong to
  std::string end_words = {};        ///< right of the plot, beside the last value
  std::vector<Limits> reach = {};    ///< bars around the values: none, or one for each
  float aside = 0;                   ///< pixels to the right, so that bars at one place can be told apart
  const Curve* low = nullptr;        ///< a band around it, value by value; it is not smoothed further
  const Curve* high = nullptr;       ///< the upper edge of that band, where there is a lower one
  std::size_t equals = 0;  ///< lines of one such number, above 0, lie on each other: they are drawn by turns
};

/// A line that keeps its own values; one that is NaN is a gap.
PlotLine line_of(std::string label, Colour colour, const std::vector<std::pair<double, double>>& points);

/// A value that holds for every x, such as the error of persistence.
struct PlotLevel {
  std::string label;
  double value = 0;
  Colour colour = 0;
  Dash dash = Dash::dashed;
  std::string end_words = {};  ///< right of the plot, in place of the label and the value within it
};

struct PlotSpec {
  std::string id;     ///< of the plot among its neighbours; also the name of exported files
  std::string title;  ///< what is plotted, with its unit
  std::string x_title;
  bool x_is_whole = false;  ///< marks at whole numbers only
  bool x_is_time = false;   ///< marks as minutes and seconds
  bool from_zero = false;   ///< the y axis begins at 0 unless it is logarithmic
  bool legend = true;
  std::vector<PlotLine> lines;
  std::vector<PlotLevel> levels;
  std::string empty;  ///< what to do when there is nothing to draw
  std::string subtitle = {};
  std::vector<double> x_marks = {};  ///< where x has marks; none: at round numbers
};

/// How a plot is looked at. Kept from frame to frame.
struct PlotView {
  bool log_y = false;
  bool fit_y = true;
  Limits y = {}, want = {};           ///< as drawn; what that eases towards
  bool drawn = false;                 ///< was drawn before: limits ease, else they jump
  std::set<std::string> hidden = {};  ///< line ids

  /// The y limits come nearer to those that are wanted by this part of the way; the last thousandth of the
  /// height is one step, so that a plot at rest is the same however it came there.
  void ease_y(float part);
  /// Another frame brings them nearer.
  bool is_easing() const;
};

/// The x axis that the plots of a view share.
struct PlotLink {
  /// Where the mouse is.
  struct Hover {
    std::string plot;  ///< by id
    double x = 0;
  };
  bool log_x = false;
  bool fit_x = true;
  Limits x;
  Limits full;                      ///< of all data
  std::optional<Limits> seen;       ///< of the data in this frame so far
  double smoothing = 0;             ///< 0 to 0.99: weight of the past
  std::optional<Hover> hover;       ///< shown in every plot
  std::optional<Hover> next_hover;  ///< in this frame: shown from the next on

  /// At the begin of a frame: takes in what the plots said of their data in the last one.
  void begin_frame();
  void see(double least, double most);
  /// The mouse is in this plot.
  bool is_over(const std::string& plot) const { return hover && hover->plot == plot; }
};

/// Where things are in a plot of this size.
struct PlotLayout {
  Box box, area, legend;
  Axis x, y;
};

/// Lines that are shown and have data.
std::vector<const PlotLine*> shown_lines(const PlotSpec& spec, const PlotView& view);

/// Finds limits and places; `ease` moves the y limits towards what fits by this part.
PlotLayout lay_out(const PlotSpec& spec, PlotView& view, const PlotLink& link, const Box& box,
                   const Canvas& canvas, float ease);

/// Draws all but what the mouse adds. Smoothed curves come from `smoother`.
void paint_plot(Canvas& canvas, const Theme& theme, const PlotSpec& spec, const PlotView& view,
                const PlotLink& link, const PlotLayout& layout, Smoother& smoother);

/// Only the lines.
void paint_lines(Canvas& canvas, const PlotSpec& spec, const PlotView& view, const PlotLink& link,
                 const PlotLayout& layout, Smoother& smoother);

/// A plot as a picture, with limits that fit at once.
void paint_whole(Canvas& canvas, const Theme& theme, const PlotSpec& spec, PlotView view,
                 const PlotLink& link, const Box& box);

/// Only the legend, into `layout.legend`.
void paint_legend(Canvas& canvas, const Theme& theme, const PlotSpec& spec, const PlotView& view,
                  const PlotLayout& layout);

/// Legend entries with their boxes, in the order of the lines.
std::vector<std::pair<const PlotLine*, Box>> legend_boxes(const PlotSpec& spec, const PlotLayout& layout,
                                                          const Canvas& canvas);

/// Every value of the shown lines as comma-separated text: line, x, value.
std::string plot_csv(const PlotSpec& spec, const PlotView& view);

// Lines that lie on each other take turns, so that each is seen.

/// Width of the pieces that such lines draw by turns, in pixels along x: a dash and its gap fit in.
inline constexpr float kTurnWidth = 14;

/// Whose turn it is: of every `parts` pieces a line draws the one numbered `part`.
struct Turn {
  std::size_t part = 0;
  std::size_t parts = 1;
};

/// The group of each line whose places and values are those of others to the last bit, from 1 on; 0 for one
/// that stands alone. Takes as long as reading every value of those that are equal.
std::vector<std::size_t> equal_lines(const std::vector<PlotLine>& lines);

/// The turn of each of `shown`: a line that is hidden leaves its pieces to the others of its group.
std::vector<Turn> turns_of(const std::vector<const PlotLine*>& shown);

/// Pieces `width` wide between `begin` and `end`, in pixels along x.
struct TurnPieces {
  float begin = 0, end = 0;
  float width = kTurnWidth;
};

/// What one of them draws of their path, between these ends.
PlotPath turn_of(const PlotPath& path, Turn turn, const TurnPieces& pieces);

}  // namespace isobar
