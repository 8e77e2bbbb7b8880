// Stretches of running text; and what the Markdown parser leaves to its caller: folds in HTML, and texts
// meant to keep it busy.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "text/markdown.h"

namespace isobar {
namespace {

bool is_line_blank(char c) { return c == ' ' || c == '\t'; }

// Where the mark of a quote or item that begins at `at` ends; `at` itself when there is none.
std::size_t mark_end(std::string_view line, std::size_t at) {
  const char first = line[at];
  if (first == '>') return at + 1;
  std::size_t end = at;
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  const bool numbered = end > at && end < line.size() && (line[end] == '.' || line[end] == ')');
  const bool bullet = first == '-' || first == '+' || first == '*';
  if (!numbered && !bullet) return at;
  end = numbered ? end + 1 : at + 1;
  return end == line.size() || is_line_blank(line[end]) ? end : at;
}

// Where the line's mark number `most` + 1 begins; npos when it has no more than that.
std::size_t too_deep_at(std::string_view line, int most) {
  std::size_t at = 0;
  for (int marks = 0;; ++marks) {
    while (at < line.size() && is_line_blank(line[at])) ++at;
    if (at == line.size()) return std::string_view::npos;
    const std::size_t end = mark_end(line, at);
    if (end == at) return std::string_view::npos;
    if (marks == most) return at;
    at = end;
  }
}

constexpr std::string_view kBlanks = " \t\r\n";

/// Whether a tag of this name begins at `at`: "<details", then its end or a blank.
bool is_tag(std::string_view html, std::size_t at, std::string_view name) {
  const std::string_view rest = html.substr(at);
  if (rest.size() <= name.size()) return false;
  const bool same = std::equal(name.begin(), name.end(), rest.begin(), [](char wanted, char there) {
    return wanted == (there >= 'A' && there <= 'Z' ? static_cast<char>(there - 'A' + 'a') : there);
  });
  return same && (rest[name.size()] == '>' || kBlanks.find(rest[name.size()]) != std::string_view::npos);
}

/// Behind the tag that begins at `at`.
std::size_t tag_end(std::string_view html, std::size_t at) {
  const std::size_t end = html.find('>', at);
  return end == std::string_view::npos ? html.size() : end + 1;
}

/// Of a <details> that ended at `at`: the words of the summary that follows, and where that ends.
std::pair<std::string, std::size_t> summary_at(std::string_view html, std::size_t at) {
  const std::size_t begin = std::min(html.find_first_not_of(kBlanks, at), html.size());
  if (!is_tag(html, begin, "<summary")) return {"", at};
  const std::size_t words = tag_end(html, begin);
  std::size_t end = words;
  while (end < html.size() && !is_tag(html, end, "</summary")) ++end;
  return {std::string(trimmed(html.substr(words, end - words))),
          end < html.size() ? tag_end(html, end) : end};
}

bool is_span_blank(char c) { return c == ' ' || c == '\n'; }

}  // namespace

std::vector<HtmlPiece> html_pieces(std::string_view html) {
  std::vector<HtmlPiece> out;
  std::size_t text = 0;
  const auto end_text = [&](std::size_t end) {
    const std::string_view words = trimmed(html.substr(text, end - text));
    if (!words.empty()) out.push_back({HtmlPiece::Kind::text, std::string(words)});
  };
  for (std::size_t at = 0; at < html.size(); ++at) {
    const bool opens = is_tag(html, at, "<details");
    if (!opens && !is_tag(html, at, "</details")) continue;
    end_text(at);
    text = tag_end(html, at);
    HtmlPiece piece{opens ? HtmlPiece::Kind::fold : HtmlPiece::Kind::fold_end, ""};
    if (opens) std::tie(piece.words, text) = summary_at(html, text);
    if (opens && piece.words.empty()) piece.words = "More";
    out.push_back(std::move(piece));
    at = text - 1;
  }
  end_text(html.size());
  return out;
}

std::string with_bounded_nesting(std::string_view text, int most) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of("\r\n"), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, length);
    const bool ended = line.back() == '\n' || line.back() == '\r';
    const std::size_t cut = std::min(too_deep_at(line.substr(0, length - (ended ? 1 : 0)), most), length);
    out += line.substr(0, cut);
    if (cut < length) out += '\\';
    out += line.substr(cut);
    text.remove_prefix(length);
  }
  return out;
}

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
    return span.code || !std::ranges::all_of(span.text, is_span_blank);
  };
  spans.erase(spans.begin(), std::ranges::find_if(spans, has_more));
  while (!spans.empty() && !has_more(spans.back())) spans.pop_back();
  if (spans.empty()) return;
  if (std::string& first = spans.front().text; !spans.front().code)
    first.erase(first.begin(), std::ranges::find_if_not(first, is_span_blank));
  if (std::string& last = spans.back().text; !spans.back().code)
    last.erase(std::find_if_not(last.rbegin(), last.rend(), is_span_blank).base(), last.end());
}

}  // namespace isobar
