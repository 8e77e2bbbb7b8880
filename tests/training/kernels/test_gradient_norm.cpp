#include "kernels/gradient_norm.h"
#include "support/catch.h"
#include "support/odd_floats.h"
#include "support/typed_values.h"

namespace isobar::test_gradient_norm {

namespace {

struct Result {
  double sum = -1;
  std::int64_t bad = -1;
};

Result run(const float* values, std::int64_t n, InstructionSet set) {
  std::vector<double> scratch(static_cast<std::size_t>(kGradientNormScratch) + 1, -7);
  Result out;
  gradient_norm_cpu({n, values, &out.sum, &out.bad, scratch.data()}, set);
  CHECK(scratch.back() == -7);
  return out;
}

}  // namespace

TEST_CASE("gradient norm: every length and alignment gives the sum in long double") {
  TypedArray values(ElementType::f32, random_values(50'000, 1, 1e3));
  for (const InstructionSet set : instruction_sets_here()) {
    for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 100, 1023, 1024, 1025, 2047, 5000, 49'983}) {
      for (const std::int64_t begin : {0, 1, 5, 17}) {
        long double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto value = static_cast<long double>(values.at(begin + i));
          sum += value * value;
        }
        INFO(name_of(set) << " n = " << n << " from " << begin);
        const Result result = run(values.floats() + begin, n, set);
        CHECK(std::abs(result.sum - static_cast<double>(sum)) <= 1e-13 * static_cast<double>(sum));
        CHECK(result.bad == 0);
      }
    }
  }
}

TEST_CASE("gradient norm: large values do not overflow, small ones do not vanish") {
  for (const InstructionSet set : instruction_sets_here()) {
    const std::vector<float> large(3000, 3e38F);
    CHECK(run(large.data(), 3000, set).sum == Approx(3000 * 9e76).epsilon(1e-6));
    const std::vector<float> small(3000, 1e-42F);  // a subnormal number
    const auto value = static_cast<double>(1e-42F);
    CHECK(run(small.data(), 3000, set).sum == Approx(3000 * value * value).epsilon(1e-12));
  }
}

TEST_CASE(
    "gradient norm: each class of floats is counted or not at every place, and the sum is not finite then") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const float odd : floats_of_every_class()) {
      for (std::size_t place = 0; place < 70; ++place) {
        std::vector<float> values(5000, 1.0F);
        values[place * 71] = odd;
        const Result result = run(values.data(), 5000, set);
        REQUIRE(result.bad == (std::isfinite(odd) ? 0 : 1));
        REQUIRE(std::isfinite(result.sum) == std::isfinite(odd));
      }
    }
    const std::vector<float> mixed = mixed_floats(30'011, 5);
    CHECK(run(mixed.data(), 30'011, set).bad == plain_count_nonfinite(mixed.data(), 30'011));
  }
}

TEST_CASE("gradient norm: any number of threads gives the same bits") {
  TypedArray values(ElementType::f32, random_values(70'001, 1, 1e3));
  for (const InstructionSet set : instruction_sets_here()) {
    const ThreadCount one(1);
    const double alone = run(values.floats(), values.size(), set).sum;
    for (const int threads : {2, 3, 8}) {
      const ThreadCount several(threads);
      CHECK(run(values.floats(), values.size(), set).sum == alone);
    }
  }
  CHECK(moved_bytes(GradientNorm{.n = 10}) == 40);
}

}  // namespace isobar::test_gradient_norm
