#pragma once
// A picture that is laid out for the width it gets: for the window, and for files.
#include <functional>
#include <string>

#include "draw/sketch.h"

namespace isobar {

struct Drawing {
  std::string title;
  std::string note;  ///< below the title: where its values are from, "schematic", "measured here"
  std::string alt;   ///< what it shows, in words for who cannot see it
  /// Draws below `at.y`, between `at.x` and `at.x` + `width`; gives the y where it ends.
  std::function<float(Sketch& sketch, PlotPoint at, float width)> body;
};

/// Draws two parts beside each other from a width of `wide_from` pixels (at scale 1) on, else below each
/// other; gives the y where they end.
using PaintPart = std::function<float(PlotPoint at, float width)>;
float paint_pair(Sketch& sketch, PlotPoint at, float width, float wide_from, const PaintPart& one,
                 const PaintPart& other);

/// Height at this width, in the pixels of `canvas`.
float drawing_height(const Canvas& canvas, const Drawing& drawing, float width);

/// Draws from the top of the box, as wide as it is, without a ground.
void paint_drawing(Canvas& canvas, const Theme& theme, const Box& box, const Drawing& drawing);

/// As a file with a ground of its own, and `alt` for who cannot see it.
std::string drawing_svg(const Drawing& drawing, bool dark = false);

}  // namespace isobar
