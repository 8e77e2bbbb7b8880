// Two-byte forms of normalised values: every half, every border between two, and bounds of what is lost.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.h"
#include "kernels/pack.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

namespace {

using PackF16 = std::int64_t (*)(const float*, std::int64_t, std::uint16_t*);

/// A half by its definition: sign, five bits of exponent, ten of fraction.
double value_of_half(std::uint32_t half) {
  const std::uint32_t exponent = (half >> 10) & 31U;
  const double fraction = half & 1023U;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                                         : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

std::uint16_t packed(PackF16 pack, float value) {
  std::uint16_t out = 0;
  REQUIRE(pack(&value, 1, &out) == -1);
  return out;
}

std::vector<float> normal_values(std::size_t n, float spread) {
  std::vector<float> out(n);
  const std::uint64_t key = stream_key(5, "packed values");
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = spread * static_cast<float>(uniform_at(key, 2 * i) + uniform_at(key, 2 * i + 1) - 1);
  }
  return out;
}

}  // namespace

TEST_CASE("every half is unpacked to its value, and packed again to itself") {
  std::vector<std::uint16_t> halves(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> values(65536);
  unpack_f16(halves.data(), 65536, values.data());
  for (std::uint32_t i = 0; i < 65536; ++i) {
    INFO("half " << i);
    if ((i & 0x7c00U) == 0x7c00U) {  // infinities and NaNs are not packed at all
      const bool is_nan = (i & 0x3ffU) != 0;
      REQUIRE(std::isnan(values[i]) == is_nan);
      REQUIRE(std::isinf(values[i]) == !is_nan);
      std::uint16_t out = 0;
      REQUIRE(pack_f16(&values[i], 1, &out) == 0);
      continue;
    }
    REQUIRE(static_cast<double>(values[i]) == value_of_half(i));
    REQUIRE(std::signbit(values[i]) == ((i & 0x8000U) != 0));
    REQUIRE(packed(pack_f16, values[i]) == i);
    REQUIRE(packed(pack_f16_plain, values[i]) == i);
  }
}

TEST_CASE("between two neighbouring halves the nearer one is taken, in the middle the even one") {
  const auto pack = GENERATE(PackF16(pack_f16), PackF16(pack_f16_plain));
  for (std::uint32_t low = 0; low < 0x7bffU; ++low) {
    INFO("half " << low);
    const auto middle = static_cast<float>((value_of_half(low) + value_of_half(low + 1)) / 2);
    const std::uint32_t even = low % 2 == 0 ? low : low + 1;
    for (const float sign : {1.0F, -1.0F}) {
      const std::uint32_t bit = sign < 0 ? 0x8000U : 0;
      REQUIRE(packed(pack, sign * middle) == (even | bit));
      REQUIRE(packed(pack, sign * std::nextafter(middle, 0.0F)) == (low | bit));
      REQUIRE(packed(pack, sign * std::nextafter(middle, 1e9F)) == ((low + 1) | bit));
    }
  }
  for (const float large :
       {65504.0F, 65505.0F, 65519.99F, 65520.0F, 1e6F, std::numeric_limits<float>::max()}) {
    CHECK(packed(pack, large) == 0x7bffU);
    CHECK(packed(pack, -large) == 0xfbffU);
  }
  for (const float tiny :
       {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(), 1e-9F}) {
    CHECK(packed(pack, tiny) == 0);
    CHECK(packed(pack, -tiny) == 0x8000U);
  }
}

TEST_CASE("vectors of halves give the bits of one value at a time, at every length and place") {
  const std::vector<float> values = normal_values(10'000, 12.0F);
  std::vector<std::uint16_t> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = packed(pack_f16_plain, values[i]);
  std::vector<std::uint16_t> out(values.size());
  for (const PackF16 pack : {PackF16(pack_f16), PackF16(pack_f16_plain)}) {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 4095, 4096, 4097, 9000}) {
      for (const std::int64_t begin : {0, 1, 3}) {
        INFO("begin " << begin << " n " << n);
        std::fill(out.begin(), out.end(), std::uint16_t{0xabcd});
        REQUIRE(pack(values.data() + begin, n, out.data()) == -1);
        REQUIRE(std::equal(out.begin(), out.begin() + n, expected.begin() + begin));
        REQUIRE(out[static_cast<std::size_t>(n)] == 0xabcd);  // nothing behind the end is written
      }
    }
  }
}

TEST_CASE("vectors of i16 give the bits of one value at a time, at every length and place") {
  const std::vector<float> values = normal_values(10'000, 20.0F);
  std::vector<std::int16_t> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(pack_i16(&values[i], 1, &expected[i]) == -1);
  std::vector<std::int16_t> out(values.size());
  for (const std::int64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 4095, 4096, 4097, 9000}) {
    for (const std::int64_t begin : {0, 1, 3}) {
      INFO("begin " << begin << " n " << n);
      std::fill(out.begin(), out.end(), std::int16_t{12345});
      REQUIRE(pack_i16(values.data() + begin, n, out.data()) == -1);
      REQUIRE(std::equal(out.begin(), out.begin() + n, expected.begin() + begin));
      REQUIRE(out[static_cast<std::size_t>(n)] == 12345);
    }
  }
}

TEST_CASE("every i16 is unpacked to its multiple of 1/2048, and packed again to itself") {
  for (std::int32_t i = -32767; i <= 32767; ++i) {
    const auto one = static_cast<std::int16_t>(i);
    float value = 0;
    unpack_i16(&one, 1, &value);
    REQUIRE(static_cast<double>(value) == i / 2048.0);
    std::int16_t again = 0;
    REQUIRE(pack_i16(&value, 1, &again) == -1);
    REQUIRE(again == i);
  }
}

TEST_CASE("an i16 is the nearest multiple, the even one in the middle, and ends at 32767") {
  const auto pack = [](float value) {
    std::int16_t out = 0;
    REQUIRE(pack_i16(&value, 1, &out) == -1);
    return static_cast<std::int32_t>(out);
  };
  for (std::int32_t low = 0; low < 32767; ++low) {
    INFO("step " << low);
    const auto middle = static_cast<float>((low + 0.5) / 2048);  // exact: 17 bits
    const std::int32_t even = low % 2 == 0 ? low : low + 1;
    REQUIRE(pack(middle) == even);
    REQUIRE(pack(-middle) == -even);
    REQUIRE(pack(std::nextafter(middle, 0.0F)) == low);
    REQUIRE(pack(std::nextafter(middle, 99.0F)) == low + 1);
    REQUIRE(pack(-std::nextafter(middle, 99.0F)) == -(low + 1));
  }
  for (const float large : {15.9995117F, 16.0F, 100.0F, 1e30F, std::numeric_limits<float>::max()}) {
    CHECK(pack(large) == 32767);
    CHECK(pack(-large) == -32767);
  }
  CHECK(pack(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("what packing loses stays within what the header says") {
  const std::vector<float> values = normal_values(100'000, 15.0F);
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<std::uint16_t> halves(values.size());
  std::vector<std::int16_t> steps(values.size());
  std::vector<float> from_halves(values.size());
  std::vector<float> from_steps(values.size());
  REQUIRE(pack_f16(values.data(), n, halves.data()) == -1);
  REQUIRE(pack_i16(values.data(), n, steps.data()) == -1);
  unpack_f16(halves.data(), n, from_halves.data());
  unpack_i16(steps.data(), n, from_steps.data());
  double worst_half = 0;
  double worst_step = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    worst_half =
        std::max(worst_half, std::abs(from_halves[i] - value) / std::max(std::abs(value) * 0x1p-11, 0x1p-25));
    worst_step = std::max(worst_step, std::abs(from_steps[i] - value) * 4096);
  }
  CHECK(worst_half <= 1);
  CHECK(worst_half > 0.9);  // the bound is reached: nothing was passed over
  CHECK(worst_step <= 1);
  CHECK(worst_step > 0.9);
}

TEST_CASE("a value that is not finite is refused with the first place of one") {
  std::vector<std::uint16_t> halves(10'000);
  std::vector<std::int16_t> steps(10'000);
  for (const float value : floats_of_every_class()) {
    const bool bad = plain_count_nonfinite(&value, 1) > 0;
    for (const std::size_t place : {0UL, 5UL, 4095UL, 4096UL, 9999UL}) {
      std::vector<float> values(10'000, 0.5F);
      values[place] = value;
      values[9999] = bad ? value : 0.5F;  // a second one behind it
      const std::int64_t expected = bad ? static_cast<std::int64_t>(place) : -1;
      CHECK(pack_f16(values.data(), 10'000, halves.data()) == expected);
      CHECK(pack_f16_plain(values.data(), 10'000, halves.data()) == expected);
      CHECK(pack_i16(values.data(), 10'000, steps.data()) == expected);
    }
  }
}
