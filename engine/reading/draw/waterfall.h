#pragma once
// From the time of one step to that of another, stage by stage.
#include <string>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

struct WaterfallTerm {
  std::string stage;
  double more_us = 0;
};

struct WaterfallSpec {
  std::string id, title;
  std::string base, other;  ///< what the first and the last bar are called
  Colour base_colour = 0, other_colour = 0;
  double base_us = 0, other_us = 0;
  std::vector<WaterfallTerm> terms;  ///< they sum to `other_us` - `base_us`
};

float waterfall_height(const WaterfallSpec& spec, const Canvas& canvas);
void paint_waterfall(Canvas& canvas, const Theme& theme, const WaterfallSpec& spec, const Box& box);
std::string waterfall_csv(const WaterfallSpec& spec);

}  // namespace isobar
