#include "text/spans.h"

#include <algorithm>

#include "core/text.h"

namespace isobar {

namespace {

bool is_span_blank(char c) { return c == ' ' || c == '\n'; }

}  // namespace

std::vector<TextSpan> sentence_spans(const std::string& sentence) {
  std::vector<TextSpan> out;
  const std::vector<std::string> parts = split(sentence, '`');
  const bool is_whole = parts.size() % 2 == 1;  // each backtick has its other one
  for (std::size_t i = 0; is_whole && i < parts.size(); ++i) {
    if (!parts[i].empty()) out.push_back({.text = parts[i], .code = i % 2 == 1});
  }
  if (!is_whole) out.push_back({.text = sentence});
  return out;
}

std::string words_of(const std::vector<TextSpan>& spans) {
  std::string out;
  for (const TextSpan& span : spans) out += span.text;
  return out;
}

// A line break next to an image or at an end of a block would show as a stray gap.
void trim_spans(std::vector<TextSpan>& spans) {
  const auto has_more = [](const TextSpan& span) {
    return span.code || !std::all_of(span.text.begin(), span.text.end(), is_span_blank);
  };
  spans.erase(spans.begin(), std::find_if(spans.begin(), spans.end(), has_more));
  while (!spans.empty() && !has_more(spans.back())) spans.pop_back();
  if (spans.empty()) return;
  if (std::string& first = spans.front().text; !spans.front().code) {
    first.erase(first.begin(), std::find_if_not(first.begin(), first.end(), is_span_blank));
  }
  if (std::string& last = spans.back().text; !spans.back().code) {
    last.erase(std::find_if_not(last.rbegin(), last.rend(), is_span_blank).base(), last.end());
  }
}

}  // namespace isobar
