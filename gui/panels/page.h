#pragma once
// Markdown in the window: blocks from top to bottom, parts that fold, code to copy, pictures that are drawn.
#include <string>
#include <vector>

#include "draw/drawing.h"
#include "state/state.h"

namespace isobar {

/// A drawing as wide as there is room, named for tests.
void draw_drawing(Ui& ui, const std::string& name, const Drawing& drawing);

/// Links and pictures are those of the page of this lesson.
Requests draw_page(Ui& ui, const std::string& lesson, const std::vector<MarkdownBlock>& blocks,
                   AppState& state);

}  // namespace isobar
