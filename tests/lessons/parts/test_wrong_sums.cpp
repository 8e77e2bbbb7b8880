// What the bench of lesson 09 takes for a right sum.
#include <limits>

#include "09_all_reduce/parts/all_reduce_bench.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("sums of whole numbers are right to the bit, those of thirds to rounding, and NaN never") {
  // Two ranks: 1 + i mod 7 and 2 + i mod 7.
  std::vector<float> values = {3, 5, 7, 9, 11, 13, 15, 3};
  CHECK(wrong_sums(values, 1, 2) == 0);
  values[2] = 6.9999995F;
  CHECK(wrong_sums(values, 1, 2) == 1);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(wrong_sums(values, 1, 2) == 2);
  constexpr float kThird = 1.0F / 3;
  std::vector<float> thirds;
  for (int i = 0; i < 4; ++i)
    thirds.push_back(kThird * static_cast<float>(1 + i) + kThird * static_cast<float>(2 + i));
  CHECK(wrong_sums(thirds, kThird, 2) == 0);
  thirds[0] = 1.001F;
  thirds[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK(wrong_sums(thirds, kThird, 2) == 2);
}
