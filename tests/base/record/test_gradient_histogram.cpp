#include <cmath>
#include <limits>
#include <vector>

#include "core/json.h"
#include "record/gradient_histogram.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

TEST_CASE("gradients are counted by their power of two, those that are none for themselves") {
  GradientHistogram histogram;
  histogram.add(std::vector<float>{0.0F, -0.0F, 1.0F, -1.5F, 1.99F, 2.0F, 0.5F, std::ldexp(1.0F, -24),
                                   std::ldexp(-1.0F, -25), std::ldexp(1.0F, -14), std::ldexp(1.99F, -15)});
  histogram.add(
      std::vector<float>{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::quiet_NaN(),
                         std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()});
  CHECK(histogram.zero == 2);
  CHECK(histogram.nonfinite == 2);
  CHECK(histogram.at(0) == 3);
  CHECK(histogram.at(1) == 1);
  CHECK(histogram.at(-1) == 1);
  CHECK(histogram.at(-24) == 1);
  CHECK(histogram.at(127) == 1);
  CHECK(histogram.at(GradientHistogram::kLeast) == 1);
  CHECK(histogram.below(kHalfSubnormal) == 2);  // 2^-25 and the subnormal one
  CHECK(histogram.below(kHalfNormal) == 4);     // 2^-24 and 1.99 x 2^-15 too
  CHECK(histogram.below(1000) == 11);
  CHECK(histogram.below(-1000) == 0);
  CHECK(histogram.values() == 15);
}

TEST_CASE("counts equal the definition, one value after the other") {
  const std::vector<float> values = mixed_floats(10'000, 3);
  GradientHistogram histogram;
  histogram.add(values);
  CHECK(histogram.values() == 10'000);
  CHECK(histogram.nonfinite == plain_count_nonfinite(values.data(), 10'000));
  for (int exponent = -126; exponent <= GradientHistogram::kMost; ++exponent) {
    std::int64_t expected = 0;
    for (const float value : values) {
      const float size = std::fabs(value);
      if (std::isfinite(size) && size > 0 && std::ilogb(size) == exponent) ++expected;
    }
    INFO(exponent);
    CHECK(histogram.at(exponent) == expected);
  }
}

TEST_CASE("the line of the stream says the counts that are not zero") {
  GradientHistogram histogram{.step = 40, .scale = 65536};
  histogram.add(std::vector<float>{0.0F, 1.0F, 1.0F, 1e-9F});
  const Json line = Json::parse(gradients_event(histogram, 77).text());
  CHECK(line == Json{{"kind", "gradients"},
                     {"step", 40},
                     {"t_us", 77},
                     {"scale", 65536.0},
                     {"values", 4},
                     {"zero", 1},
                     {"nonfinite", 0},
                     {"below_normal", 1},
                     {"below_subnormal", 1},
                     {"e0", 2},
                     {"e-30", 1}});
}
