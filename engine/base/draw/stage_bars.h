#pragma once
// Steps as bars of their stages: one below the other, from one step to another stage by stage, and beside the
// rates of runs.
#include <string>
#include <utility>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

/// Stages of a step and their microseconds; "rest" is what is left of it.
using StageTimes = std::vector<std::pair<std::string, double>>;
double total_us(const StageTimes& stages);

/// One step: measured solid, predicted pale with a dotted edge.
struct StageBar {
  std::string label;  ///< above the bar
  std::string words;  ///< at its end: "36.2 ms"
  StageTimes stages_us;
  bool predicted = false;
};

/// Height of the bars of this width; `paint_stage_bars` fills it.
float stage_bars_height(const std::vector<StageBar>& bars, const Canvas& canvas);

/// A stage shows its name and its time where it has room for them.
void paint_stage_bars(Canvas& canvas, const Theme& theme, const std::vector<StageBar>& bars, const Box& box);

std::string stage_bars_csv(const std::vector<StageBar>& bars);

/// From the time of one step to that of another.
struct WaterfallSpec {
  std::string title;
  std::string base, other;  ///< what the first and the last bar are called
  Colour base_colour = 0, other_colour = 0;
  double base_us = 0, other_us = 0;
  StageTimes terms;  ///< they sum to `other_us` - `base_us`
};

float waterfall_height(const WaterfallSpec& spec, const Canvas& canvas);
void paint_waterfall(Canvas& canvas, const Theme& theme, const WaterfallSpec& spec, const Box& box);
std::string waterfall_csv(const WaterfallSpec& spec);

/// A run among others, two lines: who and with what skill; how fast, and where a step's time goes.
struct ScoreRow {
  std::string label;
  std::string facts;  ///< "3 runs   MFU 34.7 %   loss 0.4002"
  Colour colour = 0;
  Mark mark = Mark::circle;
  double rate = 0;             ///< samples/s; 0 = not measured
  double least = 0, most = 0;  ///< over the repeats: a whisker where they differ
  bool has_bar = true;         ///< measured here; the rate of another machine is a grey number
  std::string rate_words;      ///< "242.6 /s"
  std::string range_words;     ///< "237 to 245": left out where there is no room
  std::string versus;          ///< "base", "x1.07 ±0.04", "same", "cannot tell"
  bool strong = false;         ///< `versus` is a clear difference
  StageTimes stages_us;        ///< stages of a step, the last is the rest
  std::string step_words;      ///< "16.5 ms a step"
};

struct ScoreSpec {
  std::string title;
  std::vector<ScoreRow> rows;
  std::string empty;
};

float scoreboard_height(const ScoreSpec& spec, const Canvas& canvas);

/// Draws the rows below each other; gives the box of each.
std::vector<Box> paint_scoreboard(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box);

std::string scoreboard_csv(const ScoreSpec& spec);

}  // namespace isobar
