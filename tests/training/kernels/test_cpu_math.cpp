#include <bit>

#include "kernels/cpu_math.h"
#include "support/catch.h"
#include "support/odd_floats.h"
#include "support/tolerance_values.h"
#include "support/typed_values.h"

using namespace isobar;

namespace {

/// Every value of a 16-bit type, what lies next to it in float32, and the middles between it and its
/// neighbours.
template <typename Type>
void check_rounding(ElementType type) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto stored = static_cast<std::uint16_t>(bits);
    const float value = Type::load(stored);
    INFO(name_of(type) << " " << bits << " = " << value);
    if (std::isnan(value)) {
      REQUIRE(std::isnan(Type::load(Type::store(value))));
      continue;
    }
    REQUIRE(Type::store(value) == stored);
    if (std::isinf(value)) continue;
    const double middle = static_cast<double>(value) + half_step(type, static_cast<double>(value));
    const auto tie = static_cast<float>(middle);
    for (const float near : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 1e38F), -tie}) {
      const double wanted = rounded_to(type, static_cast<double>(near));
      REQUIRE(static_cast<double>(Type::load(Type::store(near))) == wanted);
    }
  }
}

}  // namespace

TEST_CASE("16 bits: all values come back, ties go to even, what is too large becomes infinite") {
  check_rounding<Bfloat16>(ElementType::bf16);
  check_rounding<Float16>(ElementType::f16);
  CHECK(std::isinf(Float16::load(Float16::store(65520.0F))));
  CHECK(Float16::load(Float16::store(std::nextafter(65520.0F, 0.0F))) == 65504.0F);
  CHECK(std::isinf(Bfloat16::load(Bfloat16::store(std::numeric_limits<float>::max()))));
}

TEST_CASE("16 bits: each class of float32 keeps its class and sign") {
  for (const float value : floats_of_every_class()) {
    INFO(std::bit_cast<std::uint32_t>(value));
    for (const float back : {Bfloat16::load(Bfloat16::store(value)), Float16::load(Float16::store(value))}) {
      CHECK(std::isnan(back) == std::isnan(value));
      CHECK(std::signbit(back) == std::signbit(value));
      if (std::isinf(value)) CHECK(back == value);
    }
  }
}

TEST_CASE("exponential: 1.5 units in the last place from 0 to 87, then zero") {
  double worst = 0;
  for (std::uint32_t bits = 0; bits < std::bit_cast<std::uint32_t>(87.0F); bits += 1013) {
    const float s = std::bit_cast<float>(bits);
    const double wanted = std::exp(-static_cast<double>(s));
    const double unit = 2 * half_step(ElementType::f32, wanted);
    worst = std::max(worst, std::abs(static_cast<double>(exp_of_minus(s)) - wanted) / unit);
  }
  CHECK(worst <= 1.5);
  CHECK(worst > 0.3);  // it is float32
  for (const float s : {87.0F, 1e30F, std::numeric_limits<float>::infinity()}) CHECK(exp_of_minus(s) == 0);
}

TEST_CASE("tail of the normal distribution: right to a few units in the last place up to 13") {
  for (int i = 0; i <= 130'000; ++i) {
    const float a = static_cast<float>(i) * 1e-4F;
    const auto exact = static_cast<double>(a);
    const auto bell = static_cast<float>(std::exp(-exact * exact / 2));
    const double wanted = std::erfc(exact / std::sqrt(2.0)) / 2;
    INFO("a = " << a);
    const double reach = (6 + 5 * exact) * kFloatStep * wanted + 1e-44;
    REQUIRE(std::abs(static_cast<double>(normal_tail(a, bell)) - wanted) <= reach);
  }
}
