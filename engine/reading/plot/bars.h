#pragma once
// Bars over one axis: what ran when, rows of spans below each other; and what something is made of, one bar
// of parts with a line for each part below it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/spread.h"
#include "analyse/timeline.h"
#include "draw/axis.h"
#include "draw/sketch.h"

namespace isobar {

struct GanttSpan {
  double begin = 0, end = 0;
  std::string words;  ///< written into it where there is room
  Colour colour = 0;
  Hatch hatch = Hatch::none;
  bool may_stand_beside = false;  ///< words that have no room in it, right or left of it
};

struct GanttRow {
  std::string label;  ///< left of it; a line of its own above it where the picture is narrow
  std::vector<GanttSpan> spans;
};

/// In the colour and hatch of the stage.
GanttSpan stage_span(const Theme& theme, double begin, double end, std::string_view stage, std::string words);
LegendEntry stage_entry(const Theme& theme, std::string_view stage, std::string words = {});

/// The stage whose looks a span of this name has: "load" of "read"; "rest" of one that is of none.
std::string stage_of_span(const std::string& name);

struct GanttMark {
  double at = 0;
  std::string words;
};

struct Gantt {
  std::string title = {};  ///< above it
  std::vector<GanttRow> rows = {};
  double begin = 0, end = 1;
  std::string axis = {};  ///< "time in ms"
  std::string widest_label =
      {};                 ///< of the other charts that it stands above or below, so that all begin alike
  bool has_ticks = true;  ///< false: an arrow without figures, of a schematic picture
  std::vector<GanttMark> marks = {};  ///< upright lines through all rows, their words above them
};

/// Where its rows are, for who points at them.
struct GanttArea {
  Axis x;
  std::vector<Box> rows;
};

/// Gives the y where it ends.
float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width, GanttArea* area = nullptr);

/// The drawn steps over milliseconds, a row for each of these tracks; `span_of` gives a span of this name and
/// track its looks, nothing where it is left out.
using SpanLooks = std::function<std::optional<GanttSpan>(const std::string& name, std::size_t track)>;
Gantt timeline_gantt(const SpanTable& table, const Timeline& timeline, const std::vector<std::size_t>& tracks,
                     const SpanLooks& span_of);

/// The middle of several values, and how far they reach.
struct IntervalBar {
  std::string label;
  Spread values;
  std::string words;  ///< right of it
};

/// Rows below each other over one axis from 0 on. Gives the y where they end.
float paint_interval_bars(Sketch& sketch, const std::vector<IntervalBar>& bars, PlotPoint at, float width);

/// A number that somebody said above the right one, whose interval goes from `low` to `high` (nan: it has
/// none). Without a body where one of them has no bar.
Drawing answer_bars(double said, const std::string& said_words, double right, const std::string& right_words,
                    double low, double high);

struct StackPart {
  std::string name;
  double value = 0;
  std::string words;  ///< the value with its unit
  Colour colour = 0;
  Hatch hatch = Hatch::none;
};

struct StackedBar {
  std::string title = {};
  std::vector<StackPart> parts = {};  ///< those of no value are left out
  std::string total = {};             ///< their sum in words
  std::string axis = {};              ///< "memory in MB"
  double unit = 1;                    ///< what the axis counts: 1e6
  double most = 0;                    ///< where the axis ends; 0 = with the sum
  bool has_rows = true;               ///< a line for each part
  double mark = 0;                    ///< where a line stands across the bar; 0 = none
  std::string mark_words = {};
};

/// Gives the y where it ends.
float paint_stacked_bar(Sketch& sketch, const StackedBar& bar, PlotPoint at, float width);

/// One below the other without rows, then one legend of the parts of all.
float paint_stacked_bars(Sketch& sketch, std::vector<StackedBar> bars, PlotPoint at, float width);

/// Those that memory is counted by, each with a look of its own; "weights" and so on.
StackPart memory_part(const Theme& theme, const std::string& name, double bytes);
/// What memory is made of, in MB or GB; the axis ends at `most` bytes at least.
using CountedBytes = std::vector<std::pair<std::string, std::uint64_t>>;
StackedBar memory_bar(const Theme& theme, const std::string& title, const CountedBytes& categories,
                      double most = 0);
/// Parts of a step that took so many microseconds.
StackPart stage_part(const Theme& theme, const std::string& stage, double us);

}  // namespace isobar
