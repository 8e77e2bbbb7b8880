#pragma once
// Colours for lines of source code: by a look at the words, without understanding the language.
#include <cstddef>
#include <string_view>
#include <vector>

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
std::vector<ColouredPiece> colour_toml(std::string_view line);

}  // namespace isobar
