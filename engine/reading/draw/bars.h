#pragma once
// Rates side by side, with the speed-up over one of them.
#include <string>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

struct Bar {
  std::string label;
  double value = 0;
  Colour colour = 0;
  std::string words;  ///< behind the bar: "150 /s"
};

struct BarSpec {
  std::string id, title;
  std::vector<Bar> bars;
  std::string empty;
};

/// Height that all bars need.
float bars_height(const BarSpec& spec, const Canvas& canvas);

/// Draws them below each other; returns the box of each row.
std::vector<Box> paint_bars(Canvas& canvas, const Theme& theme, const BarSpec& spec, const Box& box);

std::string bars_csv(const BarSpec& spec);

}  // namespace isobar
