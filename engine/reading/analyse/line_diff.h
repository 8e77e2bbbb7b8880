#pragma once
// Which lines of a text are new, which are gone.
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct DiffLine {
  enum class Kind { same, added, removed };

  Kind kind = Kind::same;
  int old_number = 0;  // from 1; 0: not in the old text
  int new_number = 0;
  std::string text;  // without the line's end
};

/// The shortest list of changes that leads from one text to the other; in each change the removed lines stand
/// before the added ones. Where the differing middles of both texts are so long that this would take too much
/// time, the whole middle counts as changed. Whether the last line is ended makes no difference.
std::vector<DiffLine> diff_lines(std::string_view old_text, std::string_view new_text);

}  // namespace isobar
