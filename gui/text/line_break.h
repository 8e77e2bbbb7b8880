#pragma once
// Where lines of text may be broken.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// Behind the word of `text` that begins at `begin` (a blank before it is part of it): at the next blank or
/// line end; a percent sign stays with its number. A word that is wider than `room` ends earlier, behind the
/// last bracket, comma or sign that fits, else where the room is full, but behind one character at least.
/// `width` is that of a stretch of text, in the unit of `room`.
std::size_t end_of_word(std::string_view text, std::size_t begin, float room,
                        const std::function<float(std::string_view)>& width);

/// `text` with line ends between words, so that each line is at most `room` wide.
std::string in_lines(std::string_view text, float room, const std::function<float(std::string_view)>& width);

/// One row of a line of code: bytes [begin, end).
struct CodeRow {
  std::size_t begin = 0, end = 0;
};

/// Rows of at most `columns` characters (at least 8), those after the first `indent` less: broken before an
/// option or a comment, else at the last blank, which is left out, else within a word.
std::vector<CodeRow> code_rows(std::string_view line, std::size_t columns, std::size_t indent);

}  // namespace isobar
