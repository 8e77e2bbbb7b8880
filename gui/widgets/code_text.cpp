#include "widgets/code_text.h"

#include <algorithm>

namespace isobar {
namespace {

Colour shade_colour(const Theme& theme, Shade shade) {
  switch (shade) {
    case Shade::keyword:
      return theme.code.keyword;
    case Shade::type:
      return theme.code.type;
    case Shade::number:
      return theme.code.number;
    case Shade::string:
      return theme.code.string;
    case Shade::comment:
      return theme.code.comment;
    case Shade::preprocessor:
      return theme.code.preprocessor;
    case Shade::call:
      return theme.code.call;
    case Shade::plain:
      break;
  }
  return theme.text;
}

}  // namespace

void paint_code(Canvas& canvas, const Theme& theme, PlotPoint at, std::string_view line,
                const std::vector<ColouredPiece>& pieces, Face face, const CodeRow& row) {
  float x = at.x;
  for (const ColouredPiece& piece : pieces) {
    const std::size_t begin = std::max<std::size_t>(piece.begin, row.begin);
    const std::size_t end = std::min<std::size_t>(piece.end, row.end);
    if (begin >= end) continue;
    const std::string_view part = line.substr(begin, end - begin);
    canvas.text(x, at.y, part, face, shade_colour(theme, piece.shade));
    x += canvas.text_width(part, face);
  }
}

}  // namespace isobar
