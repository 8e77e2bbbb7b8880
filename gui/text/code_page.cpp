#include "text/code_page.h"

namespace isobar {

CodePage code_page(std::string_view old_text, std::string_view new_text, bool is_cpp) {
  CodePage out;
  out.lines = diff_lines(old_text, new_text);
  ColourState old_state;
  ColourState new_state;
  for (std::size_t i = 0; i < out.lines.size(); ++i) {
    const DiffLine& line = out.lines[i];
    const bool removed = line.kind == DiffLine::Kind::removed;
    out.colours.push_back(
        is_cpp ? colour_cpp(line.text, removed ? old_state : new_state)
               : std::vector<ColouredPiece>{{.begin = 0, .end = line.text.size(), .shade = Shade::plain}});
    if (line.kind == DiffLine::Kind::same) old_state = new_state;
    out.added += line.kind == DiffLine::Kind::added ? 1U : 0U;
    out.removed += removed ? 1U : 0U;
    if (line.text.size() > out.lines[out.longest].text.size()) out.longest = i;
  }
  return out;
}

}  // namespace isobar
