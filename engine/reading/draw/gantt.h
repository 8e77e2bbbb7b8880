#pragma once
// What ran when: rows of spans below each other over one axis of time.
#include <string>
#include <vector>

#include "draw/sketch.h"

namespace isobar {

struct GanttSpan {
  double begin = 0, end = 0;
  std::string words;  ///< written into it where there is room
  Colour colour = 0;
  Hatch hatch = Hatch::none;
};

struct GanttRow {
  std::string label;  ///< left of it; a line of its own above it where the picture is narrow
  std::vector<GanttSpan> spans;
};

struct GanttMark {
  double at = 0;
  std::string words;
};

struct Gantt {
  std::vector<GanttRow> rows;
  double begin = 0, end = 1;
  std::string axis;              ///< "time in ms"
  bool has_ticks = true;         ///< false: an arrow without figures, of a schematic picture
  std::vector<GanttMark> marks;  ///< upright lines through all rows, their words above them
};

/// Gives the y where it ends.
float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width);

}  // namespace isobar
