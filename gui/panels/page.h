#pragma once
// Markdown in the window: blocks from top to bottom, parts that fold, code to copy, pictures that are drawn.
#include <string>
#include <vector>

#include "state/state.h"

namespace isobar {

/// Links and pictures are those of the page of this lesson.
Requests draw_page(Ui& ui, const std::string& lesson, const std::vector<MarkdownBlock>& blocks,
                   AppState& state);

}  // namespace isobar
