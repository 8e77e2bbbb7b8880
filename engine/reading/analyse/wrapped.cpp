#include "analyse/wrapped.h"

#include <algorithm>

namespace isobar {

std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
    begin = end + 1;
  }
  return lines;
}

}  // namespace isobar
