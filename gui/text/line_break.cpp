#include "text/line_break.h"

#include <algorithm>

#include "core/utf8.h"

namespace isobar {

std::size_t end_of_word(std::string_view text, std::size_t begin, float room,
                        const std::function<float(std::string_view)>& width) {
  constexpr std::size_t kLongest = 2000;  // bytes: no line holds as many
  const std::size_t end = std::min(text.find_first_of(" \n", begin + 1), text.size());
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

}  // namespace isobar
