#pragma once
// Stretches of running text.
#include <string>
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

}  // namespace isobar
