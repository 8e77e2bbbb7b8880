#pragma once
// The frame of a picture with two axes: grid, marks and titles. What it shows is drawn into it by places.
#include <string>

#include "draw/axis.h"
#include "draw/sketch.h"

namespace isobar {

struct ChartSpec {
  Axis x, y;  ///< least, most, log, whole
  std::string x_title, y_title;
  float height = 260;  ///< of the area, at scale 1
  float left = 0;      ///< of the area; 0 = what the marks of y need
  bool y_marks = true;
};

struct ChartArea {
  Axis x, y;  ///< with their pixels
  Box box;
  float end = 0;  ///< y below the title of x
  PlotPoint at(double x_value, double y_value) const { return {x.pixel(x_value), y.pixel(y_value)}; }
};

ChartArea paint_chart(Sketch& sketch, const ChartSpec& spec, PlotPoint at, float width);

}  // namespace isobar
