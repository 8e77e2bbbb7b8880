#pragma once
// Lines that lie on each other take turns, so that each is seen.
#include <vector>

#include "draw/plot.h"

namespace isobar {

/// Width of the pieces that such lines draw by turns, in pixels along x: a dash and its gap fit in.
inline constexpr float kTurnWidth = 14;

/// Whose turn it is: of every `parts` pieces a line draws the one numbered `part`.
struct Turn {
  std::size_t part = 0;
  std::size_t parts = 1;
};

/// The group of each line whose places and values are those of others to the last bit, from 1 on; 0 for one
/// that stands alone. Takes as long as reading every value of those that are equal.
std::vector<std::size_t> equal_lines(const std::vector<PlotLine>& lines);

/// The turn of each of `shown`: a line that is hidden leaves its pieces to the others of its group.
std::vector<Turn> turns_of(const std::vector<const PlotLine*>& shown);

/// Pieces `width` wide between `begin` and `end`, in pixels along x.
struct TurnPieces {
  float begin = 0, end = 0;
  float width = kTurnWidth;
};

/// What one of them draws of their path, between these ends.
PlotPath turn_of(const PlotPath& path, Turn turn, const TurnPieces& pieces);

}  // namespace isobar
