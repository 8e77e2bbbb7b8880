#pragma once
// Axes of pictures: the frame of one with two axes, with lines in it where wanted, and what stands below an
// axis of x alone.
#include <string>
#include <vector>

#include "draw/axis.h"
#include "draw/canvas.h"
#include "draw/colour.h"
#include "draw/sketch.h"

namespace isobar {

struct ChartSpec {
  Axis x, y;  ///< least, most, log, whole
  std::string x_title, y_title;
  float height = 260;                ///< height of the area, at scale 1
  float left = 0;                    ///< width left of the area; 0 = what the marks of y need
  std::vector<double> x_marks = {};  ///< where x has marks; none: at round numbers
};

struct ChartArea {
  Axis x, y;  ///< with their pixels
  Box box;
  float end = 0;  ///< y below the title of x
  PlotPoint at(double x_value, double y_value) const { return {x.pixel(x_value), y.pixel(y_value)}; }
};

ChartArea paint_chart(Sketch& sketch, const ChartSpec& spec, PlotPoint at, float width);

struct ChartPoint {
  double x = 0, y = 0;
  double least = y, most = y;  ///< over the repeats: a whisker where they differ
};

/// Its colour, mark and dash are those of its place among the lines.
struct ChartLine {
  std::string words = {};  ///< in the legend; "" = it has no entry
  std::vector<ChartPoint> points = {};
  float width = 2;
  bool marks = true;  ///< at each point; without them it is a curve
};

/// A chart with these lines, and a legend below it, behind which `end` is.
ChartArea paint_chart_lines(Sketch& sketch, const ChartSpec& spec, const std::vector<ChartLine>& lines,
                            PlotPoint at, float width);

/// A number on a disc: a step of a picture, or an entry of its list.
void paint_number(Sketch& sketch, PlotPoint middle, std::size_t number);

/// An axis below bars: marks with their labels, and its title at the right. Marks go up to `top`.
void paint_axis_below(Sketch& sketch, const Axis& x, const std::string& title, float top, float bottom);

struct XMarks {
  std::string title;
  bool is_time = false;         ///< marks as minutes and seconds
  std::vector<double> at = {};  ///< where marks are; none: at round numbers and where the axis ends
};

/// Pixels below the area that labels and title need.
inline constexpr float kXMarksHeight = 42;

/// Lines over the area, their labels left of it.
void paint_y_marks(Canvas& canvas, const Theme& theme, const std::vector<Tick>& marks, const Axis& y,
                   const Box& area);

/// What stands in the middle of an area without data.
void paint_empty(Canvas& canvas, const Theme& theme, const std::string& words, const Box& area);

/// Lines over the area, their labels below it, and the title on a line of its own.
void paint_x_marks(Canvas& canvas, const Theme& theme, const XMarks& marks, const Axis& x, const Box& area);

}  // namespace isobar
