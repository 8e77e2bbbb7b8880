// The lines of a plot, with their marks and bars.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>

#include "draw/colour.h"
#include "plot/band.h"
#include "plot/plot.h"

namespace isobar {
namespace {

void paint_reach(Canvas& canvas, const PlotLine& line, const Axis& x, const Axis& y) {
  const float s = canvas.scale();
  for (std::size_t i = 0; i < std::min(line.reach.size(), line.curve->y.size()); ++i) {
    if (!std::isfinite(line.curve->y[i])) continue;
    const float at = x.pixel((*line.places)[line.curve->row(i)]);
    const float low = y.pixel(line.reach[i].least);
    const float high = y.pixel(line.reach[i].most);
    paint_stroke(canvas, {at, low}, {at, high}, line.colour, 1.3F * s);
    for (const float end : {low, high})
      paint_stroke(canvas, {at - 4 * s, end}, {at + 4 * s, end}, line.colour, 1.3F * s);
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

bool same_bits(double one, double other) {
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

bool are_equal(const PlotLine& one, const PlotLine& other) {
  const Curve& a = *one.curve;
  const Curve& b = *other.curve;
  if (a.y.size() != b.y.size()) return false;
  for (std::size_t i = a.y.size(); i-- > 0;) {  // curves that part do so for good: the end tells soonest
    if (!same_bits(a.y[i], b.y[i])) return false;
    if (!same_bits((*one.places)[a.row(i)], (*other.places)[b.row(i)])) return false;
  }
  return true;
}

int piece_of(float x, const TurnPieces& pieces) {
  return static_cast<int>(std::floor((x - pieces.begin) / pieces.width));
}

bool is_mine(int piece, Turn turn) {
  const auto parts = static_cast<int>(turn.parts);
  return (piece % parts + parts) % parts == static_cast<int>(turn.part);
}

PlotPoint between(PlotPoint a, PlotPoint b, float x) {
  if (x <= a.x) return a;
  return x >= b.x ? b : PlotPoint{x, a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x)};
}

/// Cuts a stretch where pieces end and keeps those of the turn. Points may lie far outside.
void cut(const std::vector<PlotPoint>& stretch, Turn turn, const TurnPieces& pieces, PlotPath& out) {
  bool open = false;
  for (std::size_t i = 1; i < stretch.size(); ++i) {
    const float begin = std::max(stretch[i - 1].x, pieces.begin - pieces.width);
    const float end = std::min(stretch[i].x, pieces.end + pieces.width);
    if (end < begin) continue;
    const auto at = [&](float x) { return between(stretch[i - 1], stretch[i], x); };
    PlotPoint from = at(begin);
    const int last = piece_of(end, pieces);
    for (int piece = piece_of(begin, pieces); piece <= last; ++piece) {
      const float border = pieces.begin + pieces.width * static_cast<float>(piece + 1);
      const PlotPoint to = piece == last ? (end == stretch[i].x ? stretch[i] : at(end)) : at(border);
      if (is_mine(piece, turn)) {
        if (!open) out.stretches.push_back({from});
        out.stretches.back().push_back(to);
      }
      open = is_mine(piece, turn);
      from = to;
    }
  }
  if (stretch.size() == 1 && is_mine(piece_of(stretch[0].x, pieces), turn)) out.stretches.push_back(stretch);
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

void paint_whole(Canvas& canvas, const Theme& theme, const PlotSpec& spec, PlotView view,
                 const PlotLink& link, const Box& box) {
  Smoother smoother;
  const PlotLayout at = lay_out(spec, view, link, box, canvas, 1);
  paint_plot(canvas, theme, spec, view, link, at, smoother);
}

std::vector<std::size_t> equal_lines(const std::vector<PlotLine>& lines) {
  std::vector<std::size_t> out(lines.size(), 0);
  std::size_t groups = 0;
  const auto has_data = [&](std::size_t i) {
    return lines[i].curve != nullptr && !lines[i].curve->y.empty();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t k = i + 1; out[i] == 0 && has_data(i) && k < lines.size(); ++k) {
      if (out[k] == 0 && has_data(k) && are_equal(lines[i], lines[k])) out[k] = groups + 1;
    }
    const bool found = out[i] == 0 && std::ranges::find(out, groups + 1) != out.end();
    if (found) out[i] = ++groups;
  }
  return out;
}

std::vector<Turn> turns_of(const std::vector<const PlotLine*>& shown) {
  std::map<std::size_t, std::size_t> sizes;
  std::vector<Turn> out;
  for (const PlotLine* const line : shown) out.push_back({line->equals == 0 ? 0 : sizes[line->equals]++, 1});
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i]->equals != 0) out[i].parts = sizes[shown[i]->equals];
  }
  return out;
}

PlotPath turn_of(const PlotPath& path, Turn turn, const TurnPieces& pieces) {
  if (turn.parts < 2) return path;
  PlotPath out;
  out.points = path.points;
  for (const auto& stretch : path.stretches) cut(stretch, turn, pieces, out);
  for (const PlotStroke& stroke : path.strokes) {
    if (is_mine(piece_of(stroke.x, pieces), turn)) out.strokes.push_back(stroke);
  }
  for (std::size_t i = turn.part; i < path.not_finite.size(); i += turn.parts)
    out.not_finite.push_back(path.not_finite[i]);
  return out;
}

}  // namespace isobar
