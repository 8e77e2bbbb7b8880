#pragma once
// The path of a descent over the contours of the loss, in characters.
#include <string>
#include <vector>

#include "draw/text_style.h"
#include "samples/line.h"

namespace isobar {

/// Lines without colour, of at most 80 columns: slope to the right, intercept upwards. `path` has one line or
/// more, the start first; what is no finite number is left out.
std::vector<std::string> path_plot(const LinePoints& points, const std::vector<Line>& path,
                                   TextStyle style = terminal_style());

}  // namespace isobar
