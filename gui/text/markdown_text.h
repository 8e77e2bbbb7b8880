#pragma once
// Stretches of running text; and what the Markdown parser leaves to its caller: folds in HTML, and texts
// meant to keep it busy.
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// A stretch of text in one style; "\n" in it is a line break that the author asked for.
struct TextSpan {
  std::string text;
  bool bold = false;
  bool italic = false;
  bool code = false;
  std::string link = {};  // where it leads; empty: nowhere
  std::string note = {};  // what a pointer over it shows, such as the meaning of a word; empty: nothing
};

/// A sentence in which `words` between backticks are code; nothing else in it has a meaning.
std::vector<TextSpan> sentence_spans(const std::string& sentence);

/// The words, one after the other.
std::string words_of(const std::vector<TextSpan>& spans);

/// Takes blanks off both ends of what is to be one block.
void trim_spans(std::vector<TextSpan>& spans);

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
