#include "course/curve_shape.h"

#include <algorithm>
#include <cmath>

#include "draw/text_canvas.h"

namespace isobar {

namespace {

constexpr double kBegin = 0.7;

/// From `begin` towards `end`, fast at first.
std::vector<CurvePoint> falling(double end, double rate, double until = 1) {
  constexpr int kPoints = 24;
  std::vector<CurvePoint> out;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = until * i / kPoints;
    out.push_back({x, end + (kBegin - end) * std::exp(-rate * x)});
  }
  return out;
}

std::vector<CurveShape> make_shapes() {
  return {{"same", "falls just as without the mistake", falling(0.18, 5)},
          {"slower", "falls, but ends higher", falling(0.36, 3)},
          {"flat", "hardly moves", {{0, kBegin}, {0.5, 0.67}, {1, 0.66}}},
          {"rises", "ends higher than it began", {{0, kBegin}, {0.4, 0.73}, {0.7, 0.82}, {1, 1}}},
          {"lower", "ends lower than without the mistake", falling(0.04, 7)},
          {"stops", "the run ends with an error", falling(0.18, 5, 0.4), true}};
}

}  // namespace

const CurveShape& usual_curve() { return curve_shapes().front(); }

std::span<const CurveShape> curve_shapes() {
  static const std::vector<CurveShape> kShapes = make_shapes();
  return kShapes;
}

const CurveShape* curve_shape(std::string_view key) {
  for (const CurveShape& shape : curve_shapes()) {
    if (shape.key == key) return &shape;
  }
  return nullptr;
}

void paint_curve_shape(Canvas& canvas, const Theme& theme, const Box& box, const CurveShape& shape) {
  const float s = canvas.scale();
  const auto points_of = [&](const CurveShape& one) {
    std::vector<PlotPoint> out;
    for (const CurvePoint& point : one.points)
      out.push_back({box.x0 + static_cast<float>(point.x) * box.width(),
                     box.y1 - static_cast<float>(point.y) * box.height()});
    return out;
  };
  canvas.line(points_of(usual_curve()), theme.dim, 1.5F * s, Dash::dotted);
  const std::vector<PlotPoint> points = points_of(shape);
  canvas.line(points, theme.accent, 2 * s, Dash::solid);
  if (shape.stops) canvas.mark(points.back(), Mark::cross, 5 * s, theme.bad);
}

std::vector<std::string> curve_lines(const CurveShape& shape, std::size_t columns, std::size_t rows,
                                     TextStyle style) {
  style.columns = std::max<std::size_t>(4, columns);
  TextCanvas canvas(style);
  const float high = static_cast<float>(std::max<std::size_t>(2, rows)) * TextCanvas::kCellHigh;
  paint_curve_shape(canvas, theme_of(style.dark), {0, 0, canvas.width() - 1, high - 1}, shape);
  return canvas.lines(std::max<std::size_t>(2, rows));
}

}  // namespace isobar
