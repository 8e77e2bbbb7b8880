#include "plot/decimate.h"

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

constexpr float kFlat = 1.2F;  // pixels that a column may be high and still be a point of a line

class PathBuilder {
 public:
  explicit PathBuilder(PlotPath& path) : path_(path) {}

  void add(float x, double value, const Axis& y) {
    if (!std::isfinite(value)) {
      gap(x);
      return;
    }
    if (open_) {
      path_.stretches.back().push_back({x, y.pixel(value)});
    } else {
      path_.stretches.push_back({{x, y.pixel(value)}});
      open_ = true;
    }
  }
  /// A column whose values lie apart: the line goes in at `first`, the stroke shows the range, it leaves at
  /// `last`.
  void stroke(float x, float first, float low, float high, float last) {
    if (open_) path_.stretches.back().push_back({x, first});
    path_.strokes.push_back({x, std::min(low, high), std::max(low, high)});
    path_.stretches.push_back({{x, last}});
    open_ = true;
  }
  void gap(float x) {
    open_ = false;
    if (path_.not_finite.empty() || x - path_.not_finite.back() >= 1) path_.not_finite.push_back(x);
  }

 private:
  PlotPath& path_;
  bool open_ = false;
};

/// Indices of the curve's values at places within [least, most], with one more on each side.
std::pair<std::size_t, std::size_t> visible(const Series& places, const Curve& curve, double least,
                                            double most) {
  std::size_t begin = curve.index_of_row(places.lower_bound(least));
  std::size_t end = curve.index_of_row(places.lower_bound(std::nextafter(most, HUGE_VAL)));
  if (begin > 0) --begin;
  if (end < curve.y.size()) ++end;
  return {begin, end};
}

void add_columns(const Series& places, const Curve& curve, std::size_t begin, std::size_t end, const Axis& x,
                 const Axis& y, PathBuilder& builder) {
  std::size_t at = begin;
  for (float column = std::floor(x.begin); column < x.end && at < end; column += 1) {
    const std::size_t row = places.lower_bound(x.value(column + 1));
    const std::size_t next = std::min(end, curve.index_of_row(row));
    if (next <= at) continue;
    const float middle = column + 0.5F;
    const Extent extent = curve.y.extent(at, next);
    if (extent.finite < extent.size) builder.gap(middle);
    if (extent.finite > 0) {
      const double first = std::isfinite(curve.y[at]) ? curve.y[at] : extent.least;
      const double last = std::isfinite(curve.y[next - 1]) ? curve.y[next - 1] : extent.most;
      const float low = y.pixel(extent.least);
      const float high = y.pixel(extent.most);
      if (std::fabs(high - low) < kFlat) {
        builder.add(middle, (extent.least + extent.most) / 2, y);
      } else {
        builder.stroke(middle, y.pixel(first), low, high, y.pixel(last));
      }
    }
    at = next;
  }
  if (at < end) builder.add(x.pixel(places[curve.row(end - 1)]), curve.y[end - 1], y);
}

/// The first and the last point may lie far outside.
void cut_ends(std::vector<BandPoint>& stretch, float begin, float end) {
  const auto pull = [&](BandPoint& outer, const BandPoint& inner, float to) {
    const float part = (to - outer.x) / (inner.x - outer.x);
    outer = {to, outer.low + (inner.low - outer.low) * part, outer.high + (inner.high - outer.high) * part};
  };
  if (stretch.size() < 2) return;
  const std::size_t last = stretch.size() - 1;
  if (stretch[0].x < begin && stretch[1].x > begin) pull(stretch[0], stretch[1], begin);
  if (stretch[last].x > end && stretch[last - 1].x < end) pull(stretch[last], stretch[last - 1], end);
}

}  // namespace

PlotPath decimate(const Series& places, const Curve& curve, const Axis& x, const Axis& y) {
  PlotPath path;
  if (curve.y.empty() || places.empty()) return path;
  const auto [begin, end] = visible(places, curve, x.least, x.most);
  path.points = end > begin ? end - begin : 0;
  PathBuilder builder(path);
  if (static_cast<double>(path.points) <= 2.0 * static_cast<double>(x.end - x.begin)) {
    for (std::size_t i = begin; i < end; ++i) builder.add(x.pixel(places[curve.row(i)]), curve.y[i], y);
  } else {
    add_columns(places, curve, begin, end, x, y, builder);
  }
  return path;
}

std::vector<std::vector<BandPoint>> decimate_band(const Series& places, const Curve& low, const Curve& high,
                                                  const Axis& x, const Axis& y) {
  std::vector<std::vector<BandPoint>> out;
  if (low.y.empty() || high.y.size() != low.y.size() || places.empty()) return out;
  const auto [begin, end] = visible(places, low, x.least, x.most);
  bool open = false;
  const auto add = [&](float at, double least, double most) {
    const bool finite = std::isfinite(least) && std::isfinite(most);
    if (finite && !open) out.emplace_back();
    if (finite) out.back().push_back({at, y.pixel(least), y.pixel(most)});
    open = finite;
  };
  const bool dense = static_cast<double>(end - begin) > 2.0 * static_cast<double>(x.end - x.begin);
  for (std::size_t i = begin; i < end;) {
    const float at = x.pixel(places[low.row(i)]);
    std::size_t next = i + 1;
    if (dense && at >= x.begin && at < x.end) {
      const std::size_t row = places.lower_bound(x.value(std::floor(at) + 1));
      next = std::clamp(low.index_of_row(row), next, end);
      const Extent least = low.y.extent(i, next);
      const Extent most = high.y.extent(i, next);
      add(std::floor(at) + 0.5F, least.finite > 0 ? least.least : NAN, most.finite > 0 ? most.most : NAN);
    } else {
      add(at, low.y[i], high.y[i]);
    }
    i = next;
  }
  for (auto& stretch : out) cut_ends(stretch, x.begin, x.end);
  return out;
}

std::size_t nearest_index(const Series& places, const Curve& curve, double at) {
  const std::size_t after = curve.index_of_row(places.lower_bound(at));
  if (after >= curve.y.size()) return curve.y.size() - 1;
  if (after == 0) return 0;
  const double right = places[curve.row(after)] - at;
  const double left = at - places[curve.row(after - 1)];
  return left <= right ? after - 1 : after;
}

Extent extent_between(const Series& places, const Curve& curve, double x_least, double x_most,
                      bool positive) {
  Extent out;
  if (curve.y.empty() || places.empty()) return out;
  const std::size_t begin = curve.index_of_row(places.lower_bound(x_least));
  const std::size_t end = curve.index_of_row(places.lower_bound(std::nextafter(x_most, HUGE_VAL)));
  out = curve.y.extent(begin, end);
  if (!positive || out.finite == 0 || out.least > 0) return out;
  // Some are not positive: look at pieces and keep the positive ends.
  Extent found;
  const std::size_t piece = std::max<std::size_t>(1, (end - begin) / 4096);
  for (std::size_t i = begin; i < end; i += piece) {
    const Extent part = curve.y.extent(i, std::min(end, i + piece));
    for (const double value : {part.least, part.most}) {
      if (part.finite == 0 || !(value > 0)) continue;
      found.least = found.finite == 0 ? value : std::min(found.least, value);
      found.most = found.finite == 0 ? value : std::max(found.most, value);
      ++found.finite;
    }
  }
  found.size = out.size;
  return found;
}

}  // namespace isobar
