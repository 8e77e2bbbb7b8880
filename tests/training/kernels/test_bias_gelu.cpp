#include <numbers>

#include "kernels/bias_gelu.h"
#include "kernels/column_sums.h"
#include "support/catch.h"
#include "support/odd_floats.h"
#include "support/tolerance_values.h"
#include "support/typed_values.h"

namespace isobar::test_bias_gelu {

namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};
constexpr Shape kShapes[] = {{1, 1}, {3, 5}, {7, 96}, {65, 97}, {130, 33}, {2, 1000}, {300, 17}};

double gelu(double u, bool tanh_form) {
  if (!tanh_form) return u / 2 * std::erfc(-u / std::numbers::sqrt2);
  return u / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (u + 0.044715 * u * u * u)));
}

double slope(double u, bool tanh_form) {
  if (!tanh_form) {
    return std::erfc(-u / std::numbers::sqrt2) / 2 +
           u * std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi);
  }
  const double k = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(k * (u + 0.044715 * u * u * u));
  return (1 + t) / 2 + u / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * u * u);
}

struct Given {
  Given(ElementType type, Shape shape, double reach = 4)
      : shape(shape),
        x(type, random_values(shape.rows * shape.columns, 1, reach)),
        dy(type, random_values(shape.rows * shape.columns, 2)),
        bias(ElementType::f32, random_values(shape.columns, 3, 1)) {}

  double u(std::int64_t i) const { return x.at(i) + bias.at(i % shape.columns); }

  Shape shape;
  TypedArray x;
  TypedArray dy;
  TypedArray bias;
};

struct Result {
  TypedArray y;
  TypedArray dx;
  TypedArray dbias;
};

Result run(Given& given, InstructionSet set, bool tanh_form = false) {
  const Shape shape = given.shape;
  const ElementType type = given.x.type();
  Result out{{type, given.x.size()}, {type, given.x.size()}, {ElementType::f32, shape.columns}};
  TypedArray scratch(ElementType::f32, column_sum_scratch(shape.rows, shape.columns, 1));
  bias_gelu_cpu(BiasGeluForward{type, shape.rows, shape.columns, given.x.data(), given.bias.floats(),
                                out.y.data(), tanh_form},
                set);
  bias_gelu_cpu(
      BiasGeluBackward{type, shape.rows, shape.columns, given.x.data(), given.bias.floats(), given.dy.data(),
                       out.dx.data(), out.dbias.floats(), scratch.floats(), tanh_form},
      set);
  CHECK(scratch.guards_hold());
  CHECK((out.y.guards_hold() && out.dx.guards_hold() && out.dbias.guards_hold()));
  return out;
}

/// Against the definition in double, within the rounding of the type and of float32 arithmetic.
void compare(const Given& given, const Result& result, bool tanh_form) {
  const ElementType type = given.x.type();
  const std::int64_t columns = given.shape.columns;
  std::vector<double> sums(static_cast<std::size_t>(columns));
  std::vector<double> sizes(sums.size());
  for (std::int64_t i = 0; i < given.x.size(); ++i) {
    const double u = given.u(i);
    const double y = gelu(u, tanh_form);
    INFO("u = " << u);
    const double roundings = tanh_form ? 16 : 8;
    const double reach = kFloatStep * (roundings / 2 + 2 * u * u) * std::abs(y) + 1e-37;
    REQUIRE(std::abs(result.y.at(i) - y) <= half_step(type, y) + reach);
    const double dy = given.dy.at(i);
    const double dx = dy * slope(u, tanh_form);
    REQUIRE(std::abs(result.dx.at(i) - dx) <= half_step(type, dx) + roundings * kFloatStep * std::abs(dy));
    sums[static_cast<std::size_t>(i % columns)] += dx;
    sizes[static_cast<std::size_t>(i % columns)] += std::abs(dy);
  }
  const auto rows = static_cast<double>(given.shape.rows);
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto at = static_cast<std::size_t>(c);
    REQUIRE(std::abs(result.dbias.at(c) - sums[at]) <= (16 + rows) * kFloatStep * sizes[at]);
  }
}

}  // namespace

TEST_CASE("bias and GELU: value and gradients are those of the definition in double") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      for (const Shape shape : kShapes) {
        for (const bool tanh_form : {false, true}) {
          INFO(name_of(set) << " " << name_of(type) << " " << shape.rows << " x " << shape.columns
                            << (tanh_form ? " tanh" : ""));
          Given given(type, shape);
          compare(given, run(given, set, tanh_form), tanh_form);
        }
      }
    }
  }
}

TEST_CASE(
    "bias and GELU: over the whole range of float32 the value is right to 3 + u^2 units in the last place") {
  std::vector<double> all;
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 4099) {
    const auto u = static_cast<double>(std::bit_cast<float>(bits));
    all.insert(all.end(), {u, -u});
  }
  for (const double u : random_values(200'000, 9, 14)) all.push_back(u);  // where the value bends
  const auto n = static_cast<std::int64_t>(all.size());
  Given given(ElementType::f32, {1, n});
  given.x = TypedArray(ElementType::f32, all);
  given.bias = TypedArray(ElementType::f32, std::vector<double>(all.size(), -0.0));
  for (const InstructionSet set : instruction_sets_here()) {
    const Result result = run(given, set);
    double worst = 0;
    double worst_slope = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double u = given.x.at(i);
      const double y = gelu(u, false);
      const double unit = 2 * half_step(ElementType::f32, y) * (3 + u * u);
      worst = std::max(worst, (std::abs(result.y.at(i) - y) - 1e-37) / unit);
      const double s = slope(u, false) * given.dy.at(i);
      worst_slope =
          std::max(worst_slope, std::abs(result.dx.at(i) - s) / (std::abs(given.dy.at(i)) * kFloatStep));
    }
    INFO(name_of(set));
    CHECK(worst <= 1);
    CHECK(worst > 0.05);  // a tolerance that nothing comes near says nothing
    CHECK(worst_slope <= 8);
  }
}

TEST_CASE("bias and GELU: values of every class end where the plain version ends") {
  std::vector<double> all;
  for (const float value : floats_of_every_class()) all.push_back(static_cast<double>(value));
  for (const double value : {1e30, -1e30, 88.0, -88.0, 1e-30, -1e-30}) all.push_back(value);
  while (all.size() < 70) all.push_back(1);
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      for (const bool tanh_form : {false, true}) {
        Given given(type, {1, static_cast<std::int64_t>(all.size())});
        given.x = TypedArray(type, all);
        given.bias = TypedArray(ElementType::f32, std::vector<double>(all.size(), -0.0));
        const Result result = run(given, set, tanh_form);
        for (std::int64_t i = 0; i < given.x.size(); ++i) {
          const double u = given.x.at(i);
          INFO(name_of(set) << " " << name_of(type) << " " << u << (tanh_form ? " tanh" : ""));
          const double plain = u == -INFINITY ? std::nan("") : gelu(u, false);
          REQUIRE(std::isnan(result.y.at(i)) == std::isnan(plain));
          if (std::isfinite(plain))
            REQUIRE(std::abs(result.y.at(i) - rounded_to(type, plain)) <= 1e-2 * std::abs(plain));
          if (std::isinf(plain)) REQUIRE(result.y.at(i) == plain);
          if (u == 0) REQUIRE(std::signbit(result.y.at(i)) == std::signbit(u));
          REQUIRE(std::isnan(result.dx.at(i)) == !std::isfinite(u));
        }
      }
    }
  }
}

TEST_CASE("bias and GELU: the gradient is the slope of the value") {
  Given given(ElementType::f32, {7, 33});
  const Result result = run(given, best_instruction_set());
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < given.x.size(); ++i) {
    const double central = (gelu(given.u(i) + kStep, false) - gelu(given.u(i) - kStep, false)) / (2 * kStep);
    REQUIRE(std::abs(result.dx.at(i) - given.dy.at(i) * central) <= 1e-6 * std::abs(given.dy.at(i)));
  }
}

TEST_CASE("bias and GELU: any number of threads gives the same bits, in place too") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      Given given(type, {391, 97});
      const ThreadCount one(1);
      const Result alone = run(given, set);
      for (const int threads : {2, 3, 8}) {
        const ThreadCount several(threads);
        const Result result = run(given, set);
        CHECK((result.y == alone.y && result.dx == alone.dx && result.dbias == alone.dbias));
      }
      TypedArray scratch(ElementType::f32, column_sum_scratch(391, 97, 1));
      TypedArray dx = given.dy;
      TypedArray dbias(ElementType::f32, 97);
      bias_gelu_cpu(BiasGeluBackward{type, 391, 97, given.x.data(), given.bias.floats(), dx.data(), dx.data(),
                                     dbias.floats(), scratch.floats()},
                    set);
      CHECK((dx == alone.dx && dbias == alone.dbias));
      TypedArray y = given.x;
      bias_gelu_cpu(BiasGeluForward{type, 391, 97, y.data(), given.bias.floats(), y.data()}, set);
      CHECK(y == alone.y);
    }
  }
}

TEST_CASE("bias and GELU: of no rows nothing is read, and the sums are zero") {
  TypedArray dbias(ElementType::f32, 5);
  TypedArray scratch(ElementType::f32, column_sum_scratch(0, 5, 1));
  bias_gelu_cpu(BiasGeluForward{ElementType::bf16, 0, 5, nullptr, nullptr, nullptr});
  bias_gelu_cpu(BiasGeluBackward{ElementType::bf16, 0, 5, nullptr, nullptr, nullptr, nullptr, dbias.floats(),
                                 scratch.floats()});
  CHECK(dbias.values() == std::vector<double>(5, 0));
  CHECK(dbias.guards_hold());
}

TEST_CASE("bias and GELU: bytes moved are those of every operand once") {
  CHECK(moved_bytes(BiasGeluForward{ElementType::f32, 10, 3}) == 10 * 3 * 8 + 12);
  CHECK(moved_bytes(BiasGeluForward{ElementType::bf16, 10, 3}) == 10 * 3 * 4 + 12);
  CHECK(moved_bytes(BiasGeluBackward{ElementType::f16, 10, 3}) == 10 * 3 * 6 + 24);
}

}  // namespace isobar::test_bias_gelu
