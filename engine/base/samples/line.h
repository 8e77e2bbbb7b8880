#pragma once
// What lesson 00 fits: a line y = slope x + intercept to points that lie around one. In double precision.
//
//   loss     L = (1/N) sum r_i^2,  r_i = slope x_i + intercept - y_i
//   gradient dL/dslope = (2/N) sum r_i x_i,  dL/dintercept = (2/N) sum r_i
//   Hessian  2 [[<x^2>, <x>], [<x>, 1]], the same everywhere
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace isobar {

/// A line, or a direction from one line to another, such as a gradient.
struct Line {
  double slope = 0;
  double intercept = 0;

  double at(double x) const { return slope * x + intercept; }
  bool operator==(const Line&) const = default;
};

struct LinePoints {
  std::vector<double> x;
  std::vector<double> y;

  std::int64_t size() const { return static_cast<std::int64_t>(x.size()); }
  double x_of(std::int64_t sample) const { return x[static_cast<std::size_t>(sample)]; }
  double y_of(std::int64_t sample) const { return y[static_cast<std::size_t>(sample)]; }
  /// How far the line lies above the point.
  double residual(const Line& line, std::int64_t sample) const {
    return line.at(x_of(sample)) - y_of(sample);
  }
};

constexpr double square(double value) { return value * value; }

/// data.samples points, the same for the same seed: x uniform in [0, 1), y = slope x + intercept + normal
/// noise.
LinePoints draw_points(const DataConfig& config);

/// Where rank `rank` begins: rank 0 at model.slope and model.intercept, each other one somewhere within 1 of
/// it, drawn from `seed` (train.seed).
Line first_line(const ModelConfig& config, std::int64_t seed, int rank);

/// Lines about the points for the start of a run.
std::vector<std::string> points_text(const Config& config);

/// What the line of a step holds beside its loss: `line` behind the update, this rank's own gradient, and the
/// one that the update took.
std::vector<std::pair<const char*, double>> step_figures(const Line& line, const Line& own,
                                                         const Line& taken);

/// Means over the points with these indices; `batch` has one or more.
double line_loss(const LinePoints& points, const Line& line, std::span<const std::int64_t> batch);
Line line_gradient(const LinePoints& points, const Line& line, std::span<const std::int64_t> batch);

/// The loss over all points as a function of the line: a paraboloid.
class LossBowl {
 public:
  /// `points` has one or more.
  explicit LossBowl(const LinePoints& points);

  double loss(const Line& line) const;
  /// Where it is least. With less than two different x there is a whole line of such places; this is the one
  /// with slope 0.
  const Line& bottom() const { return bottom_; }
  double least_loss() const { return least_; }
  /// Eigenvalues of the Hessian, the larger first.
  double curvature() const { return large_; }
  double small_curvature() const { return small_; }
  /// An ellipse: `parts` lines, counter-clockwise, over which the loss is `height` more than the least. Where
  /// it would have no end (small_curvature 0) it is cut far outside.
  std::vector<Line> contour(double height, int parts) const;
  /// Gradient descent with all points goes away from the bottom above 2 / curvature.
  double largest_stable_rate() const { return 2 / large_; }

 private:
  double mean_x_ = 0;
  double mean_xx_ = 0;
  Line bottom_;
  double least_ = 0;
  double large_ = 0;
  double small_ = 0;
};

}  // namespace isobar
