#include "draw/turns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>

namespace isobar {
namespace {

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
    const bool found = out[i] == 0 && std::find(out.begin(), out.end(), groups + 1) != out.end();
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
