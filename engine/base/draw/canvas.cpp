#include "draw/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isobar {

float face_size(Face face) {
  constexpr std::array<float, 6> kSizes = {15, 13, 15, 20, 14, 12.5F};
  return kSizes[static_cast<std::size_t>(face)];
}

// Polygons beside each other would show their seams: their edges are softened.
void Canvas::band(std::span<const BandPoint> points, Colour colour) {
  std::size_t i = 1;
  if (points.size() < 2) return;
  for (float x = std::floor(points.front().x); x < points.back().x; ++x) {
    const float middle = std::clamp(x + 0.5F, points.front().x, points.back().x);
    while (i + 1 < points.size() && points[i].x < middle) ++i;
    const BandPoint& a = points[i - 1];
    const BandPoint& b = points[i];
    const float part = b.x > a.x ? (middle - a.x) / (b.x - a.x) : 0;
    fill({x, a.high + (b.high - a.high) * part, x + 1, a.low + (b.low - a.low) * part}, colour);
  }
}

void paint_stroke(Canvas& canvas, PlotPoint from, PlotPoint to, Colour colour, float width, Dash dash) {
  const std::array<PlotPoint, 2> ends = {from, to};
  canvas.line(ends, colour, width, dash);
}

void paint_outline(Canvas& canvas, const Box& box, Colour colour, float width, Dash dash) {
  const PlotPoint corner = {box.x0, box.y0};
  const std::array<PlotPoint, 5> around = {corner, PlotPoint{box.x1, box.y0}, PlotPoint{box.x1, box.y1},
                                           PlotPoint{box.x0, box.y1}, corner};
  canvas.line(around, colour, width, dash);
}

void Canvas::mark(PlotPoint at, Mark mark, float r, Colour colour) {
  const auto poly = [&](std::initializer_list<PlotPoint> offsets) {
    std::vector<PlotPoint> points;
    for (const PlotPoint offset : offsets) points.push_back({at.x + offset.x * r, at.y + offset.y * r});
    polygon(points, colour);
  };
  const auto across = [&](PlotPoint a) {
    paint_stroke(*this, {at.x - a.x * r, at.y - a.y * r}, {at.x + a.x * r, at.y + a.y * r}, colour, r * 0.5F);
  };
  switch (mark) {
    case Mark::circle:
      return circle(at, r, colour, true);
    case Mark::ring:
      return circle(at, r, colour, false);
    case Mark::square:
      return poly({{-0.9F, -0.9F}, {0.9F, -0.9F}, {0.9F, 0.9F}, {-0.9F, 0.9F}});
    case Mark::frame:
      return paint_outline(*this, {at.x - 0.8F * r, at.y - 0.8F * r, at.x + 0.8F * r, at.y + 0.8F * r},
                           colour, r * 0.4F, Dash::solid);
    case Mark::triangle:
      return poly({{0, -1.1F}, {1.05F, 0.8F}, {-1.05F, 0.8F}});
    case Mark::down:
      return poly({{-1.05F, -0.8F}, {1.05F, -0.8F}, {0, 1.1F}});
    case Mark::diamond:
      return poly({{0, -1.25F}, {1.1F, 0}, {0, 1.25F}, {-1.1F, 0}});
    case Mark::cross:
      across({0.9F, 0.9F});
      return across({0.9F, -0.9F});
    case Mark::star:
      across({0, 1.1F});
      return across({1.1F, 0});
    case Mark::none:
      return;
  }
}

std::string Canvas::fitted(std::string_view words, Face face, float width) const {
  if (text_width(words, face) <= width) return std::string(words);
  std::string out(words);
  while (!out.empty()) {
    // Whole characters go: continuation bytes of UTF-8 with their first.
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0U) == 0x80U) out.pop_back();
    if (!out.empty()) out.pop_back();
    if (text_width(out + "…", face) <= width) break;
  }
  return out + "…";
}

void paint_fitted(Canvas& canvas, float x, float y, float width, std::string_view words, Face face,
                  Colour colour, float across) {
  if (!words.empty()) canvas.text(x, y, canvas.fitted(words, face, width), face, colour, across);
}

void paint_tick(Canvas& canvas, PlotPoint middle, Colour colour) {
  const float s = canvas.scale();
  const PlotPoint tick[3] = {{middle.x - 4 * s, middle.y + 0.5F * s},
                             {middle.x - 1 * s, middle.y + 3.5F * s},
                             {middle.x + 4.5F * s, middle.y - 3.5F * s}};
  canvas.line(tick, colour, 2 * s, Dash::solid);
}

Box paint_check(Canvas& canvas, const Theme& theme, PlotPoint corner, CheckMark check, Colour held) {
  const float s = canvas.scale();
  const Box box = {corner.x, corner.y, corner.x + 14 * s, corner.y + 14 * s};
  const PlotPoint middle = {corner.x + 7 * s, corner.y + 7 * s};
  if (check == CheckMark::open) canvas.frame(box, mixed(theme.panel, theme.dim, 0.6F));
  if (check != CheckMark::open) canvas.fill(box, check == CheckMark::held ? held : theme.bad, 3 * s);
  if (check == CheckMark::held) paint_tick(canvas, middle, theme.panel);
  if (check == CheckMark::failed) canvas.mark(middle, Mark::cross, 3.5F * s, theme.panel);
  return box;
}

void paint_chevron(Canvas& canvas, PlotPoint middle, float half, Way way, Colour colour, float width) {
  const float up = (way == Way::up ? half : -half) / 2;
  const PlotPoint upright[3] = {
      {middle.x - half, middle.y + up}, {middle.x, middle.y - up}, {middle.x + half, middle.y + up}};
  const PlotPoint sideways[3] = {{middle.x - half / 2, middle.y - half},
                                 {middle.x + half / 2, middle.y},
                                 {middle.x - half / 2, middle.y + half}};
  canvas.line(way == Way::right ? sideways : upright, colour, width, Dash::solid);
}

}  // namespace isobar
