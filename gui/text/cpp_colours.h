#pragma once
// Colours for lines of source code, by a look at the words, without understanding the language; and a whole
// text with what changed in it.
#include <cstddef>
#include <string_view>
#include <vector>

#include "analyse/line_diff.h"

namespace isobar {

enum class Shade { plain, keyword, type, number, string, comment, preprocessor, call };

/// A range of bytes of a line.
struct ColouredPiece {
  std::size_t begin = 0;
  std::size_t end = 0;
  Shade shade = Shade::plain;
};

/// What one line leaves to the next.
struct ColourState {
  bool in_comment = false;
};

/// Pieces in order that cover the whole line (without its end) and leave no gap; none for an empty line. A
/// piece never ends within a character of UTF-8.
std::vector<ColouredPiece> colour_cpp(std::string_view line, ColourState& state);
std::vector<ColouredPiece> colour_shell(std::string_view line);

struct CodePage {
  std::vector<DiffLine> lines;
  std::vector<std::vector<ColouredPiece>> colours;  ///< pieces of each line
  std::size_t longest = 0;                          ///< index of the line with the most bytes
  std::size_t added = 0, removed = 0;               ///< lines
};

/// What leads from one text to the other; of a text and itself its lines.
CodePage code_page(std::string_view old_text, std::string_view new_text, bool is_cpp);

}  // namespace isobar
