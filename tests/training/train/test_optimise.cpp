#include <cmath>

#include "support/catch.h"
#include "train/schedule.h"

using namespace isobar;

TEST_CASE("the cosine falls from the peak to nothing over the steps") {
  const ScheduleConfig cosine;
  CHECK(learning_rate(cosine, 5e-4, 0, 100) == 5e-4);
  CHECK(learning_rate(cosine, 5e-4, 50, 100) == Approx(2.5e-4));
  CHECK(learning_rate(cosine, 5e-4, 99, 100) == Approx(5e-4 * 0.5 * (1 + std::cos(M_PI * 0.99))));
  CHECK(learning_rate({.kind = ScheduleKind::constant}, 5e-4, 99, 100) == 5e-4);
}

TEST_CASE("warm-up grows to the cosine and never exceeds it") {
  const ScheduleConfig warm = {.kind = ScheduleKind::cosine, .warmup_steps = 10};
  for (std::int64_t t = 0; t < 100; ++t) {
    const double cosine = 0.5 * (1 + std::cos(M_PI * static_cast<double>(t) / 100));
    CHECK(learning_rate(warm, 2.0, t, 100) == Approx(2 * std::min(static_cast<double>(t + 1) / 10, cosine)));
  }
}
