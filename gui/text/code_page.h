#pragma once
// A text of code as the Code view shows it, worked out once: its lines with their changes and colours.
#include <string_view>
#include <vector>

#include "analyse/line_diff.h"
#include "text/cpp_colours.h"

namespace isobar {

struct CodePage {
  std::vector<DiffLine> lines;
  std::vector<std::vector<ColouredPiece>> colours;  ///< of each line
  std::size_t longest = 0;                          ///< index of the line with the most bytes
  std::size_t added = 0, removed = 0;               ///< lines
};

/// What leads from one text to the other; of a text and itself its lines.
CodePage code_page(std::string_view old_text, std::string_view new_text, bool is_cpp);

}  // namespace isobar
