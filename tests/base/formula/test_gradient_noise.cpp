// Gradient noise from squared lengths: the formula on exact values, and estimates on drawn ones.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "formula/gradient_noise.h"
#include "support/catch.h"

namespace isobar::test_gradient_noise_formula {

namespace {

struct Truth {
  double mean = 0.25;  ///< a component's, in the gradient of a sample
  double deviation = 2;
  int width = 48;
  double gradient_square() const { return width * mean * mean; }
  double variance() const { return width * deviation * deviation; }
};

/// Lengths of mean gradients of samples that are normal in each component.
std::vector<GradientSquares> drawn(const Truth& truth, int batch, int ranks, int steps, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> component(truth.mean, truth.deviation / std::sqrt(batch));
  std::vector<GradientSquares> out;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> sum(static_cast<std::size_t>(truth.width));
    GradientSquares squares{.local = 0, .mean = 0};
    for (int rank = 0; rank < ranks; ++rank) {
      for (double& one : sum) {
        const double own = component(random);
        one += own / ranks;
        squares.local += own * own / ranks;
      }
    }
    for (const double one : sum) squares.mean += one * one;
    out.push_back(squares);
  }
  return out;
}

}  // namespace

TEST_CASE("expected lengths give |G|^2 and s back, for every batch and number of ranks") {
  for (const double b : {1.0, 2.0, 16.0}) {
    for (const int ranks : {2, 3, 8}) {
      const double G2 = 0.7, s = 40;
      const std::vector<GradientSquares> steps(3, {.local = G2 + s / b, .mean = G2 + s / (b * ranks)});
      const auto noise = estimate_noise(steps, b, ranks);
      REQUIRE(noise);
      CHECK(noise->gradient_square.value == Approx(G2));
      CHECK(noise->variance.value == Approx(s));
      CHECK(noise->scale.value == Approx(s / G2));
      CHECK(*noise->scale.spread < 1e-9);
      CHECK(noise->steps == 3);
    }
  }
}

TEST_CASE("the scale is a mean over a mean, and no mean of ratios") {
  // s is 8 and 16, |G|^2 is 4 and 1: 24 / 5, where ratios would give (2 + 16) / 2.
  const std::vector<GradientSquares> steps = {{.local = 12, .mean = 8}, {.local = 17, .mean = 9}};
  const auto noise = estimate_noise(steps, 1, 2);
  REQUIRE(noise);
  CHECK(noise->variance.value == 12);
  CHECK(noise->gradient_square.value == 2.5);
  CHECK(noise->scale.value == Approx(4.8));
  CHECK(*noise->variance.spread == Approx(4));  // the standard error of a mean of two
}

TEST_CASE("two estimates in three lie within a spread of the truth, and nineteen in twenty within two") {
  const Truth truth;
  int near = 0, within = 0;
  constexpr int kTries = 400;
  for (unsigned seed = 0; seed < kTries; ++seed) {
    const auto noise = estimate_noise(drawn(truth, 4, 2, 200, seed), 4, 2);
    REQUIRE(noise);
    const double off = std::fabs(noise->variance.value - truth.variance()) / *noise->variance.spread;
    const double scale_off =
        std::fabs(noise->scale.value - truth.variance() / truth.gradient_square()) / *noise->scale.spread;
    near += (off < 1) + (scale_off < 1);
    within += (off < 2) + (scale_off < 2);
  }
  CHECK(near / (2.0 * kTries) == Approx(0.68).margin(0.07));
  CHECK(within / (2.0 * kTries) == Approx(0.95).margin(0.03));
}

TEST_CASE("lengths that are equal have no noise") {
  const std::vector<GradientSquares> steps = {{.local = 2, .mean = 2}, {.local = 3, .mean = 3}};
  const auto noise = estimate_noise(steps, 4, 2);
  REQUIRE(noise);
  CHECK(noise->variance.value == 0);
  CHECK(noise->scale.value == 0);
}

TEST_CASE("where no gradient can be seen in the noise there is no estimate") {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const GradientSquares good{.local = 3, .mean = 2}, only_noise{.local = 4, .mean = 2};
  CHECK(estimate_noise(std::vector{good}, 2, 2));
  CHECK_FALSE(estimate_noise(std::vector{good}, 2, 2)->scale.spread);  // one step has none
  CHECK_FALSE(estimate_noise(std::vector{only_noise}, 2, 2));          // |G|^2 is 0
  CHECK_FALSE(estimate_noise({}, 2, 2));
  CHECK_FALSE(estimate_noise(std::vector{good}, 2, 1));
  CHECK_FALSE(estimate_noise(std::vector{good}, 0, 2));
  CHECK_FALSE(estimate_noise(std::vector{GradientSquares{}}, 2, 2));
  CHECK_FALSE(estimate_noise(std::vector<GradientSquares>{{.local = kInfinite, .mean = 2}}, 2, 2));
  // Steps that were not measured do not count, and a mean that hangs on one step has no spread.
  const auto noise = estimate_noise(std::vector{GradientSquares{}, good, only_noise, only_noise}, 2, 2);
  REQUIRE(noise);
  CHECK(noise->steps == 3);
  CHECK(noise->variance.spread);
  CHECK_FALSE(noise->scale.spread);
}

}  // namespace isobar::test_gradient_noise_formula
