#pragma once
// Code in colours.
#include <string_view>
#include <vector>

#include "draw/canvas.h"
#include "text/cpp_colours.h"
#include "text/line_break.h"

namespace isobar {

/// The part of a line that stands in one row.
void paint_code(Canvas& canvas, const Theme& theme, PlotPoint at, std::string_view line,
                const std::vector<ColouredPiece>& pieces, Face face, const CodeRow& row);

}  // namespace isobar
