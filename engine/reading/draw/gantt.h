#pragma once
// What ran when: rows of spans below each other over one axis of time.
#include <string>
#include <vector>

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

struct GanttMark {
  double at = 0;
  std::string words;
};

struct Gantt {
  std::vector<GanttRow> rows;
  double begin = 0, end = 1;
  std::string axis;  ///< "time in ms"
  std::string widest_label =
      {};                 ///< of the other charts that it stands above or below, so that all begin alike
  bool has_ticks = true;  ///< false: an arrow without figures, of a schematic picture
  std::vector<GanttMark> marks;  ///< upright lines through all rows, their words above them
};

/// Where its rows are, for who points at them.
struct GanttArea {
  Axis x;
  std::vector<Box> rows;
};

/// Gives the y where it ends.
float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width, GanttArea* area = nullptr);

}  // namespace isobar
