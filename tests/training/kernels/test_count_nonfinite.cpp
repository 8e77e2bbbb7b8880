#include <omp.h>

#include <algorithm>

#include "kernels/count_nonfinite.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

TEST_CASE("each class of floats is counted or not, alone and at every place of a vector") {
  for (const float value : floats_of_every_class()) {
    const bool bad = std::isnan(value) || std::isinf(value);
    CHECK(count_nonfinite(&value, 1) == (bad ? 1 : 0));
    for (std::size_t place = 0; place < 70; ++place) {
      std::vector<float> values(70, 1.0F);
      values[place] = value;
      REQUIRE(count_nonfinite(values.data(), 70) == (bad ? 1 : 0));
    }
  }
}

TEST_CASE("lengths of 0 to 100 at every alignment, with bad neighbours that are not counted") {
  const std::vector<float> values = mixed_floats(256, 1);
  for (std::int64_t begin = 0; begin <= 32; ++begin) {
    for (std::int64_t n = 0; n <= 100; ++n) {
      const float* const at = values.data() + begin;
      REQUIRE(count_nonfinite(at, n) == plain_count_nonfinite(at, n));
      std::vector<float> inside(256, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(inside.begin() + begin, n, 1.0F);
      REQUIRE(count_nonfinite(inside.data() + begin, n) == 0);
    }
  }
}

TEST_CASE("large buffers: the same with one thread and with several, and at the borders of blocks") {
  constexpr std::size_t kMost = (std::size_t{1} << 22) + 77;
  const std::vector<float> values = mixed_floats(kMost, 7);
  const int threads = omp_get_max_threads();
  for (const std::size_t n :
       {(kMost - 77) / 4 - 1, (kMost - 77) / 4, (kMost - 77) / 4 + 1, kMost - 77, kMost}) {
    const std::int64_t expected = plain_count_nonfinite(values.data(), static_cast<std::int64_t>(n));
    CHECK(expected > 0);
    for (const int count : {1, 2, 3, 7}) {
      omp_set_num_threads(count);
      CHECK(count_nonfinite(values.data(), static_cast<std::int64_t>(n)) == expected);
    }
  }
  omp_set_num_threads(threads);
  const std::vector<float> all(kMost, -std::numeric_limits<float>::infinity());
  CHECK(count_nonfinite(all.data(), static_cast<std::int64_t>(kMost)) == static_cast<std::int64_t>(kMost));
}
