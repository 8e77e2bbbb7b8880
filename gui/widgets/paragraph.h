#pragma once
// Running text with its styles, links and words that say what they mean.
#include <string>
#include <vector>

#include "text/markdown.h"
#include "widgets/ui.h"

namespace isobar {

/// Draws the spans as a paragraph from the cursor to the right edge, in an id of its own where they hold
/// links. The link that was clicked, "" without one.
std::string show_spans(Ui& ui, const std::vector<TextSpan>& spans, float indent, bool strong);

}  // namespace isobar
