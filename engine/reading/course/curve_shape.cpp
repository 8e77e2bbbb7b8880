#include "course/curve_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/utf8.h"

namespace isobar {

namespace {

constexpr double kBegin = 0.7;
constexpr std::size_t kAcross = 2, kDown = 4;  // points of a letter

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

/// A bitmap whose letters are of Unicode's braille patterns, U+2800 and up.
class Dots {
 public:
  Dots(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows), bits_(columns * rows) {}

  std::size_t width() const { return columns_ * kAcross; }
  std::size_t height() const { return rows_ * kDown; }
  void set(std::size_t x, std::size_t y) {
    static constexpr std::uint8_t kBits[kDown][kAcross] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x >= width() || y >= height()) return;
    bits_[y / kDown * columns_ + x / kAcross] |= kBits[y % kDown][x % kAcross];
  }
  std::vector<std::string> lines() const {
    constexpr std::uint32_t kEmpty = 0x2800;
    std::vector<std::string> out(rows_);
    for (std::size_t i = 0; i < bits_.size(); ++i) append_utf8(out[i / columns_], kEmpty + bits_[i]);
    return out;
  }

 private:
  std::size_t columns_, rows_;
  std::vector<std::uint8_t> bits_;
};

double height_at(const std::vector<CurvePoint>& points, double x) {
  const auto next = std::ranges::find_if(points, [&](const CurvePoint& p) { return p.x >= x; });
  if (next == points.begin()) return points.front().y;
  if (next == points.end()) return points.back().y;
  const CurvePoint& before = *(next - 1);
  return before.y + (next->y - before.y) * (x - before.x) / (next->x - before.x);
}

/// Row of the bitmap, 0 at the top.
std::size_t row_of(const Dots& dots, double y) {
  const double rows = static_cast<double>(dots.height()) - 1;
  return static_cast<std::size_t>(std::lround((1 - std::clamp(y, 0.0, 1.0)) * rows));
}

void draw(Dots& dots, const std::vector<CurvePoint>& points, std::size_t every) {
  const double last = static_cast<double>(dots.width()) - 1;
  std::size_t before = row_of(dots, points.front().y);
  for (std::size_t x = 0; x < dots.width(); ++x) {
    const double at = static_cast<double>(x) / last;
    if (at > points.back().x) return;
    const std::size_t row = row_of(dots, height_at(points, at));
    if (x % every == 0) dots.set(x, row);
    if (every == 1) {  // no gap where it is steep
      for (std::size_t y = std::min(before, row); y < std::max(before, row); ++y) dots.set(x, y);
    }
    before = row;
  }
}

void draw_cross(Dots& dots, const CurvePoint& at) {
  const auto x = static_cast<std::size_t>(std::lround(at.x * (static_cast<double>(dots.width()) - 1)));
  const std::size_t y = row_of(dots, at.y);
  for (std::size_t i = 0; i <= 4; ++i) {
    dots.set(x + i - 2, y + i - 2);
    dots.set(x + i - 2, y + 2 - i);
  }
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

std::vector<std::string> curve_lines(const CurveShape& shape, std::size_t columns, std::size_t rows) {
  constexpr std::size_t kDotted = 4;
  Dots dots(std::max<std::size_t>(4, columns), std::max<std::size_t>(2, rows));
  draw(dots, usual_curve().points, kDotted);
  draw(dots, shape.points, 1);
  if (shape.stops) draw_cross(dots, shape.points.back());
  return dots.lines();
}

}  // namespace isobar
