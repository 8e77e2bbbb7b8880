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

void Canvas::mark(PlotPoint at, Mark mark, float r, Colour colour) {
  const auto poly = [&](std::initializer_list<PlotPoint> offsets) {
    std::vector<PlotPoint> points;
    for (const PlotPoint offset : offsets) points.push_back({at.x + offset.x * r, at.y + offset.y * r});
    polygon(points, colour);
  };
  const auto stroke = [&](PlotPoint a, PlotPoint b) {
    const std::array<PlotPoint, 2> points = {PlotPoint{at.x + a.x * r, at.y + a.y * r},
                                             PlotPoint{at.x + b.x * r, at.y + b.y * r}};
    line(points, colour, r * 0.5F, Dash::solid);
  };
  switch (mark) {
    case Mark::circle:
      return circle(at, r, colour, true);
    case Mark::ring:
      return circle(at, r, colour, false);
    case Mark::square:
      return poly({{-0.9F, -0.9F}, {0.9F, -0.9F}, {0.9F, 0.9F}, {-0.9F, 0.9F}});
    case Mark::triangle:
      return poly({{0, -1.1F}, {1.05F, 0.8F}, {-1.05F, 0.8F}});
    case Mark::down:
      return poly({{-1.05F, -0.8F}, {1.05F, -0.8F}, {0, 1.1F}});
    case Mark::diamond:
      return poly({{0, -1.25F}, {1.1F, 0}, {0, 1.25F}, {-1.1F, 0}});
    case Mark::cross:
      stroke({-0.9F, -0.9F}, {0.9F, 0.9F});
      return stroke({-0.9F, 0.9F}, {0.9F, -0.9F});
    case Mark::star:
      stroke({0, -1.1F}, {0, 1.1F});
      return stroke({-1.1F, 0}, {1.1F, 0});
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

}  // namespace isobar
