#pragma once
// What stands below a plot: the marks of its x axis, and what the axis counts.
#include <string>
#include <vector>

#include "draw/axis.h"
#include "draw/canvas.h"
#include "draw/theme.h"

namespace isobar {

struct XMarks {
  std::string title;
  bool is_time = false;         ///< marks as minutes and seconds
  std::vector<double> at = {};  ///< where marks are; none: at round numbers and where the axis ends
};

/// Pixels below the area that labels and title need.
inline constexpr float kXMarksHeight = 42;

/// Lines over the area, their labels below it, and the title on a line of its own.
void paint_x_marks(Canvas& canvas, const Theme& theme, const XMarks& marks, const Axis& x, const Box& area);

}  // namespace isobar
