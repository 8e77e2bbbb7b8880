// Products in 16 bits on a processor without instructions for them, beside a scalar reference. ctest holds
// this program to AVX2; started by hand without that, it looks at the types that this processor lacks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/cpu_instructions.h"
#include "device/emulated_products.h"
#include "device/operator_watch.h"
#include "support/catch.h"

using namespace isobar;

namespace {

struct Type {
  at::ScalarType type;
  int bits;      ///< of a significand, the leading one included
  int exponent;  ///< of the least normal value
  double largest;
};
constexpr Type kBf16{at::kBFloat16, 8, -126, 0x1.fep127};
constexpr Type kFp16{at::kHalf, 11, -14, 65504};

/// The types that are emulated here, which are all of them below AVX512.
std::vector<Type> emulated_types() {
  emulate_products();
  std::vector<Type> out;
  for (const Type& type : {kBf16, kFp16}) {
    if (emulates_products(type.type, cpu_instructions())) out.push_back(type);
  }
  return out;
}

/// To nearest, ties to even, by arithmetic alone.
double rounded(double value, const Type& to) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), to.exponent) - to.bits + 1);
  const double out = std::nearbyint(value / unit) * unit;
  return std::fabs(out) > to.largest ? std::copysign(std::numeric_limits<double>::infinity(), out) : out;
}

enum class Values { usual, subnormal, huge, integers, wide_range };

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}

  std::int64_t size() {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 48, 64, 70};
    return kSizes[random_() % std::size(kSizes)];
  }
  std::uint32_t choice(std::uint32_t of) { return static_cast<std::uint32_t>(random_() % of); }

  /// [rows, columns] of `type`: laid out as it is, transposed, or a part of something larger.
  at::Tensor matrix(std::int64_t rows, std::int64_t columns, const Type& type, Values values) {
    const std::uint32_t layout = choice(3);
    at::Tensor out =
        layout == 0 ? at::empty({rows, columns}, type.type)
        : layout == 1
            ? at::empty({columns, rows}, type.type).t()
            : at::empty({rows + 3, columns + 5}, type.type).narrow(0, 2, rows).narrow(1, 1, columns);
    at::Tensor drawn = at::empty({rows, columns}, at::kDouble);
    auto* const place = drawn.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < rows * columns; ++i) place[i] = rounded(value(type, values), type);
    return out.copy_(drawn);
  }

 private:
  double value(const Type& type, Values values) {
    const double uniform = std::uniform_real_distribution<double>(-1, 1)(random_);
    switch (values) {
      case Values::usual:
        return uniform;
      case Values::subnormal:
        return std::ldexp(uniform, type.exponent);
      case Values::huge:
        return std::fabs(uniform) * type.largest;
      case Values::integers:
        return std::round(16 * uniform);
      case Values::wide_range:
        return std::ldexp(uniform, static_cast<int>(choice(24)) - 12);
    }
    return 0;
  }

  std::mt19937 random_;
};

/// How exact the arithmetic is that makes a product.
struct Arithmetic {
  double tiny;  ///< what an addition may lose of a sum near zero
};
/// The float32 kernels keep subnormal values.
constexpr Arithmetic kFloat32{.tiny = 0x1p-149};
/// AVX512-BF16 and AMX take subnormal inputs for zero and give no subnormal sums (Intel's manual of
/// instructions, VDPBF16PS and TDPBF16PS); sums are float32, rounded to nearest even, in any order.
constexpr Arithmetic kDotProducts{.tiny = 0x1p-126};

/// How far the sum may lie from the exact one before it is rounded, in any order of its terms.
double slack(double sum_of_sizes, std::int64_t terms, const Arithmetic& how) {
  const double k = static_cast<double>(terms) * 0x1p-24;
  return k / (1 - k) * sum_of_sizes + 2 * static_cast<double>(terms) * how.tiny;
}

/// Every value of `ours`, [m, n], is one that the exact value of c + a b may be rounded to.
void check_against_scalar(const at::Tensor& ours, const at::Tensor& a16, const at::Tensor& b16,
                          const at::Tensor& c16, const Type& type, bool is_exact, const Arithmetic& how) {
  REQUIRE(ours.scalar_type() == type.type);
  const at::Tensor a = a16.to(at::kDouble).contiguous(), b = b16.to(at::kDouble).contiguous();
  const at::Tensor got = ours.to(at::kDouble).contiguous();
  const at::Tensor c = c16.defined() ? c16.to(at::kDouble).contiguous() : at::Tensor();
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  REQUIRE(got.sizes() == at::IntArrayRef({m, n}));
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = c.defined() ? c.const_data_ptr<double>()[row * n + column] : 0;
      double sizes = std::fabs(sum);
      for (std::int64_t i = 0; i < k; ++i) {
        const double term =
            a.const_data_ptr<double>()[row * k + i] * b.const_data_ptr<double>()[i * n + column];
        sum += term;
        sizes += std::fabs(term);
      }
      const double room = is_exact ? 0 : slack(sizes, k + 1, how);
      const double value = got.const_data_ptr<double>()[row * n + column];
      // A sum beyond float32 is infinite in any order of terms of one sign.
      const bool overflows = sum - room > std::numeric_limits<float>::max();
      const bool fits = value >= rounded(sum - room, type) && value <= rounded(sum + room, type);
      if (!(overflows ? std::isinf(value) && value > 0 : fits)) {
        CAPTURE(at::toString(type.type), m, k, n, row, column, value, sum, room);
        FAIL("a product is not what a scalar loop gives");
      }
    }
  }
}

/// A thousand products of `types` in turn, of all shapes, layouts and values.
void check_thousand(const std::vector<Type>& types, const Arithmetic& how) {
  constexpr Values kValues[] = {Values::usual, Values::subnormal, Values::huge, Values::integers,
                                Values::wide_range};
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed);
    const Type& type = types[seed % types.size()];
    const Values values = kValues[seed / 2 % std::size(kValues)];
    const std::int64_t m = draw.size(), n = draw.size(), k = draw.size();
    const at::Tensor a = draw.matrix(m, k, type, values), b = draw.matrix(k, n, type, values);
    const at::Tensor c = draw.matrix(m, n, type, values);
    const at::Tensor bias = draw.matrix(1, n, type, values).select(0, 0);
    CAPTURE(seed);
    // Sums of products of integers up to 16 are exact in float32: only the last rounding is left, ties too.
    const auto check = [&](const at::Tensor& ours, const at::Tensor& added) {
      check_against_scalar(ours, a, b, added, type, values == Values::integers, how);
    };
    switch (draw.choice(5)) {
      case 0:
        check(at::mm(a, b), {});
        break;
      case 1:
        check(at::addmm(c, a, b), c);
        break;
      case 2:
        check(at::linear(a, b.t(), bias), bias.expand({m, n}));
        break;
      case 3:
        check(at::bmm(a.unsqueeze(0), b.unsqueeze(0))[0], {});
        break;
      default:
        check(at::baddbmm(c.unsqueeze(0), a.unsqueeze(0), b.unsqueeze(0))[0], c);
    }
  }
}

void check_instructions(const char* name, bool are_here, const Type& type) {
  if (!are_here) {
    WARN("not run: this processor has no " << name << ", or is held to less");
    return;
  }
  emulate_products();  // of the other type, perhaps
  check_thousand({type}, type.type == at::kHalf ? kFloat32 : kDotProducts);
}

}  // namespace

TEST_CASE("a thousand emulated products are what a scalar loop gives, rounded once", "[emulated]") {
  const std::vector<Type> types = emulated_types();
  if (types.empty()) {
    WARN("not run: this processor emulates nothing, and is not held to AVX2");
    return;
  }
  check_thousand(types, kFloat32);
}

TEST_CASE("a thousand products by AVX512-BF16", "[avx512_bf16]") {
  const CpuInstructions& cpu = cpu_instructions();
  check_instructions("AVX512-BF16", cpu.avx512_bf16 && !cpu.amx_bf16, kBf16);
}

TEST_CASE("a thousand products by AMX in bf16", "[amx_bf16]") {
  check_instructions("AMX", cpu_instructions().amx_bf16, kBf16);
}

TEST_CASE("a thousand products by AVX512-FP16 or AMX in fp16", "[avx512_fp16]") {
  check_instructions("AVX512-FP16", cpu_instructions().multiplies_fp16(), kFp16);
}

TEST_CASE("ties go to the even neighbour, and what is too large becomes infinite", "[emulated]") {
  for (const Type& type : emulated_types()) {
    const double unit = std::ldexp(1.0, 1 - type.bits);  // of the values 1 .. 2
    const auto sum = [&](double x, double y) {           // [x, y] times [1, 1]
      const at::Tensor a = at::empty({1, 2}, at::kDouble);
      a[0][0] = x;
      a[0][1] = y;
      return at::mm(a.to(type.type), at::ones({2, 1}, type.type)).item<double>();
    };
    CHECK(sum(1, unit / 2) == 1);
    CHECK(sum(1 + unit, unit / 2) == 1 + 2 * unit);
    CHECK(sum(1, unit / 2 + std::ldexp(unit, -4)) == 1 + unit);
    CHECK(sum(-1, -unit / 2) == -1);
    CHECK(sum(type.largest, 0) == type.largest);
    CHECK(sum(type.largest, type.largest) == std::numeric_limits<double>::infinity());
    CHECK(sum(-type.largest, -type.largest) == -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(sum(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity())));
    const double least = std::ldexp(1.0, type.exponent - type.bits + 1);
    CHECK(sum(least, least) == 2 * least);
  }
}

TEST_CASE("attention and its gradient are those of float32, rounded", "[emulated]") {
  for (const Type& type : emulated_types()) {
    const auto leaf = [&] { return at::randn({2, 3, 17, 8}).to(type.type); };
    std::vector<at::Tensor> narrow = {leaf(), leaf(), leaf()}, wide;
    for (const at::Tensor& one : narrow) wide.push_back(one.to(at::kFloat).requires_grad_());
    for (at::Tensor& one : narrow) one.requires_grad_();
    const at::Tensor ours = at::scaled_dot_product_attention(narrow[0], narrow[1], narrow[2]);
    const at::Tensor exact = at::scaled_dot_product_attention(wide[0], wide[1], wide[2]);
    CHECK(at::equal(ours, exact.to(type.type)));
    const at::Tensor cotangent = at::randn({2, 3, 17, 8}).to(type.type);
    ours.backward(cotangent);
    exact.backward(cotangent.to(at::kFloat));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(narrow[i].grad().scalar_type() == type.type);
      const at::Tensor expected = wide[i].grad();
      const double off = (narrow[i].grad().to(at::kFloat) - expected).abs().max().item<double>();
      // The saved result is rounded, as it is with instructions; a gradient then differs by its share.
      CHECK(off <= 4 * std::ldexp(1.0, -type.bits) * expected.abs().max().item<double>());
    }
  }
}

TEST_CASE("other types stay libtorch's own, and types that do not fit are refused as before", "[emulated]") {
  emulate_products();
  const at::Tensor a = at::randn({5, 7}), b = at::randn({7, 3});
  CHECK(at::mm(a, b).scalar_type() == at::kFloat);
  CHECK(at::mm(a.to(at::kDouble), b.to(at::kDouble)).scalar_type() == at::kDouble);
  const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  CHECK((at::mm(a, b).to(at::kDouble) - exact).abs().max().item<double>() < 1e-5);
  CHECK_THROWS_AS(at::mm(a.to(at::kHalf), b), c10::Error);
  CHECK_THROWS_AS(at::mm(a.to(at::kHalf), a.to(at::kHalf)), c10::Error);
}

TEST_CASE("an emulated product is one operation to whoever counts them", "[emulated]") {
  for (const Type& type : emulated_types()) {
    const at::Tensor a = at::ones({4, 4}, type.type);
    OperatorWatch watch{c10::Device(c10::kCPU)};
    at::mm(a, a);
    watch.stop();
    std::vector<std::string> seen;
    for (const WatchedOperator& row : watch.take().rows) seen.push_back(row.name);
    CHECK(seen == std::vector<std::string>{"mm"});
  }
}
