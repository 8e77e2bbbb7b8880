#include "text/line_break.h"

#include <algorithm>

#include "core/utf8.h"

namespace isobar {

std::size_t end_of_word(std::string_view text, std::size_t begin, float room,
                        const std::function<float(std::string_view)>& width) {
  constexpr std::size_t kLongest = 2000;  // bytes: no line holds as many
  std::size_t end = std::min(text.find_first_of(" \n", begin + 1), text.size());
  if (text.substr(end, 2) == " %") end = std::min(text.find_first_of(" \n", end + 2), text.size());
  const std::size_t first = text[begin] == ' ' ? begin + 1 : begin;
  if (end - first <= kLongest && width(text.substr(first, end - first)) <= room) return end;
  std::size_t full = first;
  std::size_t behind_sign = first;
  while (full < end) {
    const std::size_t next = full + std::max<std::size_t>(1, utf8_length(text.substr(full, end - full)));
    if (full > first && width(text.substr(first, next - first)) > room) break;
    full = next;
    if (std::string_view("(<,.:;/=_-").find(text[full - 1]) != std::string_view::npos) behind_sign = full;
  }
  return behind_sign > first ? behind_sign : full;
}

std::string in_lines(std::string_view text, float room, const std::function<float(std::string_view)>& width) {
  std::string out;
  float right = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    if (text[begin] == '\n') {
      out += text[begin++];
      right = 0;
      continue;
    }
    const std::size_t end = end_of_word(text, begin, room, width);
    std::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (right > 0 && right + width(word) > room) {
      out += '\n';
      right = 0;
      if (word.front() == ' ') word.remove_prefix(1);
    }
    out += word;
    right += width(word);
  }
  return out;
}

namespace {

/// Where a row of code that begins at `begin` and has room until `end` is broken.
std::size_t code_break(std::string_view line, std::size_t begin, std::size_t end) {
  const std::size_t first = std::min(line.find_first_not_of(' ', begin), end);
  std::size_t blank = 0;
  for (std::size_t at = end; at > first; --at) {
    if (line[at] != ' ') continue;
    blank = std::max(blank, at);
    const std::string_view next = line.substr(std::min(line.find_first_not_of(' ', at), line.size()));
    if (next.starts_with("--") || next.starts_with("# ") || next.starts_with("// "))
      return line.find_last_not_of(' ', at) + 1;
  }
  return blank > 0 ? blank : end;
}

}  // namespace

std::vector<CodeRow> code_rows(std::string_view line, std::size_t columns, std::size_t indent) {
  std::vector<CodeRow> out;
  const std::size_t least = 8;
  std::size_t begin = 0;
  while (true) {
    const std::size_t room = std::max(least, out.empty() ? columns : columns - std::min(indent, columns));
    std::size_t end = begin;
    for (std::size_t count = 0; count < room && end < line.size(); ++count)
      end += std::max<std::size_t>(1, utf8_length(line.substr(end)));
    if (end >= line.size()) {
      out.push_back({begin, line.size()});
      return out;
    }
    end = code_break(line, begin, end);
    out.push_back({begin, end});
    begin = std::min(line.find_first_not_of(' ', end), line.size());
    if (begin == line.size()) return out;
  }
}

}  // namespace isobar
