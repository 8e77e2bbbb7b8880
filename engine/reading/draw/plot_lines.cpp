// The lines of a plot, with their marks and bars.
#include <algorithm>
#include <cmath>

#include "draw/colour.h"
#include "draw/turns.h"

namespace isobar {
namespace {

void paint_reach(Canvas& canvas, const PlotLine& line, const Axis& x, const Axis& y) {
  const float s = canvas.scale();
  for (std::size_t i = 0; i < std::min(line.reach.size(), line.curve->y.size()); ++i) {
    if (!std::isfinite(line.curve->y[i])) continue;
    const float at = x.pixel((*line.places)[line.curve->row(i)]);
    const float low = y.pixel(line.reach[i].least);
    const float high = y.pixel(line.reach[i].most);
    const auto stroke = [&](PlotPoint from, PlotPoint to) {
      const PlotPoint ends[2] = {from, to};
      canvas.line(ends, line.colour, 1.3F * s, Dash::solid);
    };
    stroke({at, low}, {at, high});
    for (const float end : {low, high}) stroke({at - 4 * s, end}, {at + 4 * s, end});
  }
}

/// Of lines that lie on each other each marks some of the points, of few ones all, in rings.
void paint_marks(Canvas& canvas, const PlotLine& line, const PlotPath& path, Turn turn, Colour colour) {
  const bool rings = path.points < turn.parts;
  const auto around = static_cast<float>(rings ? turn.parts - 1 - turn.part : 0);
  std::size_t at = 0;
  for (const auto& stretch : path.stretches) {
    for (const PlotPoint& point : stretch) {
      if (rings || at % turn.parts == turn.part)
        canvas.mark(point, line.mark, (2.8F + 1.8F * around) * canvas.scale(), colour);
      ++at;
    }
  }
}

/// How a line is drawn.
struct Stroke {
  Colour colour = 0;
  float width = 1;
  Turn turn;
};

void paint_path(Canvas& canvas, const PlotLine& line, const Curve& curve, const PlotLayout& at,
                const Stroke& stroke) {
  Axis x = at.x;
  x.begin += line.aside * canvas.scale();
  x.end += line.aside * canvas.scale();
  const PlotPath whole = decimate(*line.places, curve, x, at.y);
  paint_reach(canvas, line, x, at.y);
  const PlotPath path = turn_of(whole, stroke.turn, {x.begin, x.end, kTurnWidth * canvas.scale()});
  for (const auto& stretch : path.stretches) {
    if (stretch.size() > 1 || path.strokes.empty())
      canvas.line(stretch, stroke.colour, stroke.width, line.dash);
  }
  const float half = stroke.width / 2;
  for (const PlotStroke& column : path.strokes) {
    canvas.fill({column.x - half, column.y0 - half, column.x + half, column.y1 + half}, stroke.colour);
  }
  const bool sparse = path.points > 0 && path.points <= 40 && line.low == nullptr;
  if (sparse) paint_marks(canvas, line, whole, stroke.turn, stroke.colour);
  for (const float place : path.not_finite) {
    canvas.mark({place, at.area.y0 + 7 * canvas.scale()}, Mark::cross, 3.5F * canvas.scale(), stroke.colour);
  }
}

bool is_smoothed(const PlotLine& line, const PlotLink& link) {
  return link.smoothing > 0 && line.curve->y.size() > 2 && line.low == nullptr;
}

void paint_bands(Canvas& canvas, const std::vector<const PlotLine*>& lines, const PlotLayout& at) {
  for (const PlotLine* const line : lines) {
    if (line->low == nullptr) continue;
    for (const auto& stretch : decimate_band(*line->places, *line->low, *line->high, at.x, at.y))
      canvas.band(stretch, with_alpha(line->colour, 0.18F));
  }
}

}  // namespace

void paint_lines(Canvas& canvas, const PlotSpec& spec, const PlotView& view, const PlotLink& link,
                 const PlotLayout& at, Smoother& smoother) {
  const float s = canvas.scale();
  const std::vector<const PlotLine*> lines = shown_lines(spec, view);
  const std::vector<Turn> turns = turns_of(lines);
  paint_bands(canvas, lines, at);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const PlotLine& line = *lines[i];
    const bool smooth = is_smoothed(line, link);
    const Colour colour = smooth ? with_alpha(line.colour, 0.28F) : line.colour;
    paint_path(canvas, line, *line.curve, at, {colour, (smooth ? 1.0F : 1.8F) * s, turns[i]});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const PlotLine& line = *lines[i];
    if (!is_smoothed(line, link)) continue;
    const Curve& soft = smoother.smoothed(spec.id + "\n" + line.id, *line.curve, link.smoothing);
    paint_path(canvas, line, soft, at, {line.colour, 2 * s, turns[i]});
  }
}

}  // namespace isobar
