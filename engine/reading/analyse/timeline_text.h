#pragma once
// A timeline in a terminal: rows are tracks, columns are time, a letter is what ran.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "analyse/timeline.h"
#include "core/json.h"

namespace isobar {

struct TextWidth {
  std::size_t columns = 80;  ///< of a line; fewer than 60 are taken for 60
  bool colour = false;       ///< with the escape codes of a terminal
};

/// The drawn steps, in ASCII. A cell shows what covers most of its time, '.' where that is nothing. At most
/// 48 tracks.
std::vector<std::string> draw_timeline(const SpanTable& table, const Timeline& timeline,
                                       const TextWidth& width);

/// Figures of one name of a track over the steady steps, as texts: the track and how busy it was (both only
/// in its first row), the name, ms a step, its share of the time, in so many steps, GB/s ("" = it says no
/// bytes).
struct FigureRow {
  std::size_t track = 0;  ///< place in SpanTable::tracks
  std::size_t name = 0;   ///< place in SpanTable::names
  std::array<std::string, 7> cells;
};
inline constexpr std::array<const char*, 7> kFigureHeads = {"track",       "busy",     "what", "ms a step",
                                                            "of the time", "in steps", "GB/s"};

/// At most 48 tracks.
std::vector<FigureRow> figure_rows(const SpanTable& table, const Timeline& timeline);

/// The same in a terminal, and what the step events say of these steps.
std::vector<std::string> timeline_lines(const SpanTable& table, const Timeline& timeline);

/// Figures and drawn spans as one JSON object.
Json timeline_json(const SpanTable& table, const Timeline& timeline, const std::string& run);

}  // namespace isobar
