// The line of lesson 00: points, loss, gradient and the bowl, each against another way to work it out.
#include <cmath>
#include <numeric>

#include "samples/line.h"
#include "support/catch.h"

using namespace isobar;

namespace {

LinePoints some_points(std::int64_t samples = 500) {
  DataConfig config;
  config.samples = samples;
  return draw_points(config);
}

std::vector<std::int64_t> all_of(const LinePoints& points) {
  std::vector<std::int64_t> out(points.x.size());
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

}  // namespace

TEST_CASE("points lie around the line, the same for the same seed") {
  const LinePoints points = some_points(20000);
  double sum = 0, squares = 0, xs = 0;
  for (std::int64_t i = 0; i < points.size(); ++i) {
    REQUIRE((points.x_of(i) >= 0 && points.x_of(i) < 1));
    const double off = points.residual({2, 0.5}, i);
    sum += off;
    squares += off * off;
    xs += points.x_of(i);
  }
  const double count = static_cast<double>(points.size());
  CHECK(std::abs(sum / count) < 0.003);  // four standard errors of noise 0.1
  CHECK(std::sqrt(squares / count) == Approx(0.1).epsilon(0.03));
  CHECK(xs / count == Approx(0.5).epsilon(0.02));
  CHECK(some_points().x == some_points().x);
  DataConfig other;
  other.seed = 1;
  CHECK(draw_points(other).x != some_points(1000).x);
}

TEST_CASE("the gradient is what the loss changes by") {
  const LinePoints points = some_points();
  const std::vector<std::int64_t> batch = {3, 17, 17, 256};
  const Line at{0.7, -0.3};
  const Line gradient = line_gradient(points, at, batch);
  constexpr double kStep = 1e-6;
  const auto slope_of = [&](const Line& way) {
    return (line_loss(points, {at.slope + kStep * way.slope, at.intercept + kStep * way.intercept}, batch) -
            line_loss(points, {at.slope - kStep * way.slope, at.intercept - kStep * way.intercept}, batch)) /
           (2 * kStep);
  };
  CHECK(gradient.slope == Approx(slope_of({1, 0})).epsilon(1e-8));
  CHECK(gradient.intercept == Approx(slope_of({0, 1})).epsilon(1e-8));
}

TEST_CASE("the bowl is the loss over all points, and its bottom is where the gradient is zero") {
  const LinePoints points = some_points();
  const std::vector<std::int64_t> all = all_of(points);
  const LossBowl bowl(points);
  for (const Line& line : {Line{0, 2}, Line{2, 0.5}, Line{-30, 11}})
    CHECK(bowl.loss(line) == Approx(line_loss(points, line, all)).epsilon(1e-12));
  CHECK(bowl.loss(bowl.bottom()) == bowl.least_loss());
  const Line flat = line_gradient(points, bowl.bottom(), all);
  CHECK(std::abs(flat.slope) < 1e-13);
  CHECK(std::abs(flat.intercept) < 1e-13);
  for (const Line& line : bowl.contour(0.3, 40)) CHECK(bowl.loss(line) == Approx(bowl.least_loss() + 0.3));
  // Eigenvalues: their sum is the trace of the Hessian, their product its determinant.
  double x = 0, xx = 0;
  for (const double value : points.x) {
    x += value / 500;
    xx += value * value / 500;
  }
  CHECK(bowl.curvature() + bowl.small_curvature() == Approx(2 * xx + 2));
  CHECK(bowl.curvature() * bowl.small_curvature() == Approx(4 * (xx - x * x)));
}

TEST_CASE("descent with all points stays below the largest stable rate, and leaves above it") {
  const LinePoints points = some_points();
  const std::vector<std::int64_t> all = all_of(points);
  const LossBowl bowl(points);
  const auto height_after = [&](double part_of_rate) {
    Line line{0, 2};
    for (int step = 0; step < 2000; ++step) {
      const Line gradient = line_gradient(points, line, all);
      line.slope -= part_of_rate * bowl.largest_stable_rate() * gradient.slope;
      line.intercept -= part_of_rate * bowl.largest_stable_rate() * gradient.intercept;
    }
    return bowl.loss(line) - bowl.least_loss();
  };
  CHECK(height_after(0.99) < 1e-12);
  CHECK(height_after(1.01) > 1e3);
}

TEST_CASE("points above each other have a flat best line, and one point is met") {
  const LinePoints same{{0.25, 0.25}, {1, 3}};
  CHECK(LossBowl(same).bottom() == Line{0, 2});
  CHECK(LossBowl(same).least_loss() == Approx(1));
  CHECK(LossBowl(same).small_curvature() == Approx(0).margin(1e-15));
  CHECK(LossBowl(LinePoints{{0.5}, {7}}).least_loss() == 0);
}

TEST_CASE("ranks begin apart, and rank 0 where it is told") {
  ModelConfig config;
  CHECK(first_line(config, 1, 0) == Line{config.slope, config.intercept});
  const Line one = first_line(config, 1, 1);
  CHECK(one != first_line(config, 1, 2));
  CHECK(one == first_line(config, 1, 1));
  CHECK(one != first_line(config, 2, 1));
  CHECK(std::abs(one.slope - config.slope) <= 1);
}
