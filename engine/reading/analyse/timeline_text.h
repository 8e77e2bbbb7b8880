#pragma once
// A timeline in a terminal: rows are tracks, columns are time, a letter is what ran.
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

/// The figures over the steady steps.
std::vector<std::string> timeline_lines(const SpanTable& table, const Timeline& timeline);

/// Figures and drawn spans as one JSON object.
Json timeline_json(const SpanTable& table, const Timeline& timeline, const std::string& run);

}  // namespace isobar
