#pragma once
// Markdown (with the tables of GitHub) as a flat list of blocks, ready to be laid out from top to bottom.
#include <string>
#include <string_view>
#include <vector>

#include "text/markdown_text.h"

namespace isobar {

struct MarkdownBlock {
  /// Blocks from a fold to its end are shown where the reader unfolds them (<details> of HTML); its spans
  /// are the words that stand for them.
  enum class Kind { heading, paragraph, code, item, table, quote, rule, image, fold, fold_end };

  Kind kind = Kind::paragraph;
  /// Of a heading: 1 to 6. Of an item or a quote: how deep it is nested, from 1. Of anything else: in how
  /// many lists it stands. Never more than 100.
  int level = 0;
  /// Of an item: a bullet or "3."; empty for its second and later paragraphs.
  std::string marker;
  std::vector<TextSpan> spans;  // of an image: the words that stand for it
  std::string code;             // lines separated by "\n", none at the end
  std::string language;
  std::vector<std::vector<std::vector<TextSpan>>> rows;  // cells of a table; the first row is its header
  std::string target;                                    // file of an image
};

/// Any bytes are accepted: what is not UTF-8 becomes U+FFFD, raw HTML but <details> stays as it is written.
/// What is too large to be shown is cut, and a last paragraph says so.
std::vector<MarkdownBlock> parse_markdown(std::string_view text);

}  // namespace isobar
