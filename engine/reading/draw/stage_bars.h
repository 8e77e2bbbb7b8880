#pragma once
// Steps as bars of their stages, below each other on one scale: what was measured solid, what is predicted
// pale with a dotted edge.
#include <string>
#include <utility>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

struct StageBar {
  std::string label;  ///< above the bar
  std::string words;  ///< at its end: "36.2 ms"
  std::vector<std::pair<std::string, double>> stages_us;
  bool predicted = false;
};

/// Height of the bars of this width; `paint_stage_bars` fills it.
float stage_bars_height(const std::vector<StageBar>& bars, const Canvas& canvas);

/// A stage says its name and its time where it has room for them.
void paint_stage_bars(Canvas& canvas, const Theme& theme, const std::vector<StageBar>& bars, const Box& box);

std::string stage_bars_csv(const std::vector<StageBar>& bars);

}  // namespace isobar
