#pragma once
// From a curve of any length to the few points that a plot of some width can show.
#include <vector>

#include "draw/axis.h"
#include "draw/canvas.h"
#include "log/run_series.h"

namespace isobar {

/// What lies in one pixel column of a curve that is denser than pixels: a vertical stroke.
struct PlotStroke {
  float x = 0;
  float y0 = 0, y1 = 0;  ///< y0 <= y1
};

/// Connected stretches of a curve in pixels; where a value is not finite the line has a gap.
struct PlotPath {
  std::vector<std::vector<PlotPoint>> stretches;
  std::vector<PlotStroke> strokes;
  std::vector<float> not_finite;  ///< x of values that are NaN or infinite, at most one a pixel
  std::size_t points = 0;         ///< values that lie between the ends of the x axis
};

/// Up to two values a pixel column are kept as they are; of more, each column keeps its first, least,
/// greatest and last, so that no extreme is lost.
PlotPath decimate(const Series& places, const Curve& curve, const Axis& x, const Axis& y);

/// Stretches of the band between two curves with the same rows, cut at the ends of the x axis; of more than
/// two values a pixel column the least of `low` and the greatest of `high` are kept.
std::vector<std::vector<BandPoint>> decimate_band(const Series& places, const Curve& low, const Curve& high,
                                                  const Axis& x, const Axis& y);

/// Index of the value nearest to `at` along x; the curve must not be empty.
std::size_t nearest_index(const Series& places, const Curve& curve, double at);

/// Least and greatest finite value between two places of x; on a logarithmic axis of the positive ones.
Extent extent_between(const Series& places, const Curve& curve, double x_least, double x_most, bool positive);

}  // namespace isobar
