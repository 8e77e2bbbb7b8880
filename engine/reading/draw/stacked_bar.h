#pragma once
// What something is made of: one bar of parts over an axis, and a line for each part below it.
#include <string>
#include <vector>

#include "draw/sketch.h"

namespace isobar {

struct StackPart {
  std::string name;
  double value = 0;
  std::string words;  ///< the value with its unit
  Colour colour = 0;
  Hatch hatch = Hatch::none;
};

struct StackedBar {
  std::string title;
  std::vector<StackPart> parts;  ///< those of no value are left out
  std::string total;             ///< their sum in words
  std::string axis;              ///< "memory in MB"
  double unit = 1;               ///< what the axis counts: 1e6
  double most = 0;               ///< where the axis ends; 0 = with the sum
  bool has_rows = true;          ///< a line for each part
  double mark = 0;               ///< where a line stands across the bar; 0 = none
  std::string mark_words = {};
};

/// Gives the y where it ends.
float paint_stacked_bar(Sketch& sketch, const StackedBar& bar, PlotPoint at, float width);

/// Those that memory is counted by, each with a look of its own; "weights" and so on.
StackPart memory_part(const Theme& theme, const std::string& name, double bytes);
/// Parts of a step that took so many microseconds.
StackPart stage_part(const Theme& theme, const std::string& stage, double us);

}  // namespace isobar
