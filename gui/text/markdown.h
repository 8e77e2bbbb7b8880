#pragma once
// Markdown (with the tables of GitHub) as a flat list of blocks, ready to be laid out from top to bottom.
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

struct MarkdownBlock {
  /// Blocks from a fold to its end are shown where the reader unfolds them (<details> of HTML); its spans
  /// are the words that stand for them.
  enum class Kind { heading, paragraph, code, item, table, quote, rule, image, fold, fold_end };

  Kind kind = Kind::paragraph;
  /// A heading: 1 to 6. An item or a quote: how deep it is nested, from 1. Anything else: in how many lists
  /// it stands. Never more than 100.
  int level = 0;
  /// An item's bullet or "3."; empty for its second and later paragraphs.
  std::string marker;
  std::vector<TextSpan> spans;  // for an image: the words that stand for it
  std::string code;             // lines separated by "\n", none at the end
  std::string language;
  std::vector<std::vector<std::vector<TextSpan>>> rows;  // cells of a table; the first row is its header
  std::string target;                                    // file of an image
};

/// Any bytes are accepted: what is not UTF-8 becomes U+FFFD, raw HTML but <details> stays as it is written.
/// What is too large to be shown is cut, and a last paragraph reports it.
std::vector<MarkdownBlock> parse_markdown(std::string_view text);

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
