#pragma once
// The shapes that a loss curve can have beside the one of a run without a mistake: what a learner picks from
// before a fault is seen. Terminal and window draw these points.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"
#include "draw/text_style.h"

namespace isobar {

/// Both from 0 to 1 of the box that it is drawn in; at y = 0 there is no loss at all.
struct CurvePoint {
  double x = 0;
  double y = 0;
};

struct CurveShape {
  const char* key;    ///< key of the choice: "flat"
  const char* words;  ///< "hardly moves"
  std::vector<CurvePoint> points;
  bool stops = false;  ///< the run ends with an error there
};

/// The shape of a run without the mistake, which is drawn beside each.
const CurveShape& usual_curve();

/// "same", "slower", "flat", "rises", "lower", "stops".
std::span<const CurveShape> curve_shapes();
/// Null for a key that is none of them.
const CurveShape* curve_shape(std::string_view key);

/// `shape` over the usual one, which is dotted, with a cross where it stops.
void paint_curve_shape(Canvas& canvas, const Theme& theme, const Box& box, const CurveShape& shape);

/// A shape as `rows` lines of text, `columns` letters wide.
std::vector<std::string> curve_lines(const CurveShape& shape, std::size_t columns, std::size_t rows,
                                     TextStyle style = {});

}  // namespace isobar
