#pragma once
// What the Markdown parser leaves to its caller: folds in HTML, and texts meant to keep it busy.
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// A stretch of a block of HTML: a <details> with the words of its <summary>, its end, or anything else as it
/// is written.
struct HtmlPiece {
  enum class Kind { text, fold, fold_end };
  Kind kind = Kind::text;
  std::string words;
};
std::vector<HtmlPiece> html_pieces(std::string_view html);

/// The text with no line that opens more than `most` quotes and list items at once: the parser walks through
/// all that are open at each empty line, so a few kilobytes could keep it busy for minutes. What would open
/// more becomes plain text.
std::string with_bounded_nesting(std::string_view text, int most);

}  // namespace isobar
