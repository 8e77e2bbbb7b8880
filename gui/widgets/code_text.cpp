#include "widgets/code_text.h"

#include <algorithm>

namespace isobar {
namespace {

/// By Shade, from keyword on.
constexpr Colour Theme::Code::*kInks[] = {
    &Theme::Code::keyword, &Theme::Code::type,         &Theme::Code::number, &Theme::Code::string,
    &Theme::Code::comment, &Theme::Code::preprocessor, &Theme::Code::call};

Colour shade_colour(const Theme& theme, Shade shade) {
  return shade == Shade::plain ? theme.text : theme.code.*kInks[static_cast<std::size_t>(shade) - 1];
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
