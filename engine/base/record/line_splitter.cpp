#include "record/line_splitter.h"

namespace isobar {

std::size_t LineSplitter::take(std::string_view bytes, std::vector<std::string>& lines) {
  bytes = bytes.substr(0, limits_.window);
  std::size_t begin = 0;
  std::size_t taken = 0;
  while (taken < limits_.lines) {
    const std::size_t end = bytes.find('\n', begin);
    if (end == std::string_view::npos) break;
    const std::string_view line = bytes.substr(begin, end - begin);
    // Zero bytes in front of a newline: the file system shows the size before the data. It is read again.
    if (line.find('\0') != std::string_view::npos) break;
    begin = end + 1;
    if (in_given_up_) {
      in_given_up_ = false;
    } else if (line.size() > limits_.line) {
      ++dropped_;
    } else if (!line.empty()) {
      lines.emplace_back(line);
      ++taken;
    }
  }
  if (begin == 0 && bytes.size() == limits_.window) {
    const std::size_t end = bytes.find('\n');
    in_given_up_ = end == std::string_view::npos;
    begin = in_given_up_ ? bytes.size() : end + 1;
    ++dropped_;
  }
  return begin;
}

}  // namespace isobar
