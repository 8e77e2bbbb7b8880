#pragma once
// Running text with its styles, links and words with their meaning; code in colours.
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"
#include "text/cpp_colours.h"
#include "text/line_break.h"
#include "text/markdown.h"
#include "widgets/ui.h"

namespace isobar {

/// Draws the spans as a paragraph from the cursor to the right edge, in an id of its own where they hold
/// links. The link that was clicked, "" without one.
std::string show_spans(Ui& ui, const std::vector<TextSpan>& spans, float indent, bool strong);

/// The part of a line that stands in one row.
void paint_code(Canvas& canvas, const Theme& theme, PlotPoint at, std::string_view line,
                const std::vector<ColouredPiece>& pieces, Face face, const CodeRow& row);

}  // namespace isobar
