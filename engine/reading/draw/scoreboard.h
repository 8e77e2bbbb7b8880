#pragma once
// Runs side by side, two lines each: who and with what skill; how fast, and where a step's time goes.
#include <string>
#include <utility>
#include <vector>

#include "draw/canvas.h"

namespace isobar {

struct ScoreRow {
  std::string label;
  std::string facts;  ///< "3 runs   MFU 34.7 %   loss 0.4002"
  Colour colour = 0;
  Mark mark = Mark::circle;
  double rate = 0;             ///< samples/s; 0 = not measured
  double least = 0, most = 0;  ///< of its repeats: a whisker where they differ
  bool has_bar = true;         ///< measured here; the rate of another machine is a grey number
  std::string rate_words;      ///< "242.6 /s"
  std::string range_words;     ///< "237 to 245": left out where there is no room
  std::string versus;          ///< "base", "x1.07 ±0.04", "same", "cannot tell"
  bool strong = false;         ///< `versus` tells a difference
  std::vector<std::pair<std::string, double>> stages_us;  ///< of a step, the last is the rest
  std::string step_words;                                 ///< "16.5 ms a step"
};

struct ScoreSpec {
  std::string id, title;
  std::vector<ScoreRow> rows;
  std::string empty;
};

float scoreboard_height(const ScoreSpec& spec, const Canvas& canvas);

/// Draws the rows below each other; gives the box of each.
std::vector<Box> paint_scoreboard(Canvas& canvas, const Theme& theme, const ScoreSpec& spec, const Box& box);

std::string scoreboard_csv(const ScoreSpec& spec);

}  // namespace isobar
