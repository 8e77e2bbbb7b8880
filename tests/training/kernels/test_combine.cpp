#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/random.h"
#include "kernels/cpu_math.h"
#include "support/catch.h"
#include "vector/combine.h"

using namespace isobar;

namespace {

template <typename Value>
std::vector<Value> random_bits(std::size_t n, const char* name) {
  std::vector<Value> out(n);
  const std::uint64_t key = stream_key(11, name);
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::uint64_t>(uniform_at(key, 2 * i) * 0x1p32) |
                      (static_cast<std::uint64_t>(uniform_at(key, 2 * i + 1) * 0x1p32) << 32);
    std::memcpy(&out[i], &bits, sizeof(Value));
  }
  return out;
}

/// Same bits, or both not a number.
template <typename Value>
bool same(Value a, Value b) {
  return std::memcmp(&a, &b, sizeof(Value)) == 0;
}
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}
bool same(double a, double b) { return a == b || (a != a && b != b); }

template <typename Value, typename Expected>
void check(CombineType type, Combine job, const Expected& expected) {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const std::size_t n : {0U, 1U, 7U, 64U, 1027U}) {
      const auto a = random_bits<Value>(n + 1, "a");
      const auto b = random_bits<Value>(n + 1, "b");
      std::vector<Value> out(n + 1, b.back());
      std::vector<Value> also(n + 1, b.back());
      job.type = type;
      job.n = static_cast<std::int64_t>(n);
      job.a = a.data();
      job.b = b.data();
      job.out = out.data();
      job.also = also.data();
      combine(set, job);
      std::vector<Value> in_place = b;  // alone, in place, and at a place that is aligned to nothing much
      job.a = a.data() + 1;
      job.b = in_place.data() + 1;
      job.out = in_place.data() + 1;
      job.also = nullptr;
      combine(set, job);
      INFO(name_of(set) << ", type " << static_cast<int>(type) << ", " << n << " values");
      int wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        wrong += same(out[i], expected(a[i], b[i])) && same(out[i], also[i]) ? 0 : 1;
        wrong += same(in_place[i + 1], expected(a[i + 1], b[i + 1])) ? 0 : 1;
      }
      CHECK(wrong == 0);
      CHECK(same(out[n], b.back()));  // nothing behind the end
      CHECK(same(also[n], b.back()));
    }
  }
}

template <typename Type>
auto sixteen(int divisor, bool takes_larger) {
  return [=](std::uint16_t a, std::uint16_t b) {
    const float x = Type::load(a);
    const float y = Type::load(b);
    if (takes_larger) return Type::store(x > y || x != x ? x : y);
    const std::uint16_t sum = Type::store(x + y);
    return divisor == 1 ? sum : Type::store(Type::load(sum) / static_cast<float>(divisor));
  };
}

/// Not a number of a type of 16 bits has no one pattern: they are compared as numbers.
template <typename Type>
void check_sixteen(CombineType type, Combine job) {
  const auto expected = sixteen<Type>(job.divisor, job.takes_larger);
  for (const InstructionSet set : instruction_sets_here()) {
    const auto a = random_bits<std::uint16_t>(4099, "a");
    const auto b = random_bits<std::uint16_t>(4099, "b");
    std::vector<std::uint16_t> out(4099);
    job.type = type;
    job.n = 4099;
    job.a = a.data();
    job.b = b.data();
    job.out = out.data();
    combine(set, job);
    int wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      wrong += same(Type::load(out[i]), Type::load(expected(a[i], b[i]))) ? 0 : 1;
    INFO(name_of(set));
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("values are added with every instruction set, in one rounding") {
  check<float>(CombineType::f32, {}, [](float a, float b) { return a + b; });
  check<double>(CombineType::f64, {}, [](double a, double b) { return a + b; });
  check_sixteen<Float16>(CombineType::f16, {});
  check_sixteen<Bfloat16>(CombineType::bf16, {});
}

TEST_CASE("whole numbers wrap around") {
  check<std::int32_t>(CombineType::i32, {}, [](std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  });
  check<std::int64_t>(CombineType::i64, {.divisor = 3}, [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  });
  check<std::uint8_t>(CombineType::u8, {},
                      [](std::uint8_t a, std::uint8_t b) { return static_cast<std::uint8_t>(a + b); });
}

TEST_CASE("a mean rounds the sum and then the quotient, also where no shift would do") {
  check<float>(CombineType::f32, {.divisor = 3}, [](float a, float b) { return (a + b) / 3.0F; });
  check<double>(CombineType::f64, {.divisor = 7}, [](double a, double b) { return (a + b) / 7.0; });
  check_sixteen<Float16>(CombineType::f16, {.divisor = 3});
  check_sixteen<Bfloat16>(CombineType::bf16, {.divisor = 3});
}

TEST_CASE("the larger of two, and never a NaN lost") {
  check<float>(CombineType::f32, {.takes_larger = true},
               [](float a, float b) { return a > b || a != a ? a : b; });
  check<std::int32_t>(CombineType::i32, {.takes_larger = true},
                      [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
  check<std::uint8_t>(CombineType::u8, {.takes_larger = true},
                      [](std::uint8_t a, std::uint8_t b) { return std::max(a, b); });
  check_sixteen<Float16>(CombineType::f16, {.takes_larger = true});
  check_sixteen<Bfloat16>(CombineType::bf16, {.takes_larger = true});
}
