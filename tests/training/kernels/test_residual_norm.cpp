#include "kernels/column_sums.h"
#include "kernels/residual_norm.h"
#include "support/catch.h"
#include "support/residual_norm_case.h"
#include "support/tolerance_values.h"

namespace isobar::test_residual_norm {

namespace {

constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{1, 1},    {3, 5},    {7, 96},  {65, 97},
                                                             {130, 33}, {2, 1000}, {300, 17}};
constexpr NormParts kParts[] = {
    {}, {.has_bias = false}, {.adds = false, .has_bias = false}, {.has_dsum = false, .wants_da = false}};

template <typename Check>
void for_each_case(const Check& check) {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      for (const auto& [rows, columns] : kShapes) {
        for (const NormParts& parts : kParts) {
          INFO(name_of(set) << " " << name_of(type) << " " << rows << " x " << columns
                            << (parts.adds ? "" : " alone") << (parts.has_bias ? "" : " no bias")
                            << (parts.has_dsum ? "" : " no dsum"));
          NormCase given(type, rows, columns, parts);
          check(given, set);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("residual and norm: sum, statistics and value are those of the definition in double") {
  for_each_case([](NormCase& given, InstructionSet set) {
    const NormForward result = run_forward(given, set);
    for (std::int64_t row = 0; row < given.rows; ++row) {
      const PlainNorm plain(given, row);
      const double reach = kFloatStep * (1 + static_cast<double>(given.columns) / 64);
      REQUIRE(std::abs(result.mean.at(row) - plain.mean) <= reach * plain.largest);
      REQUIRE(std::abs(result.rstd.at(row) / plain.rstd - 1) <= reach * (2 + plain.rstd * plain.largest));
      for (std::int64_t c = 0; c < given.columns; ++c) {
        const std::int64_t i = row * given.columns + c;
        const auto at = static_cast<std::size_t>(c);
        if (given.parts.adds) REQUIRE(std::abs(result.sum.at(i) - plain.sum[at]) <= 4 * kFloatStep * 10);
        const double y = plain.normal[at] * given.weight.at(c) + given.bias.at(c);
        const double size = std::abs(given.weight.at(c)) * (1 + std::abs(plain.normal[at])) *
                                (1 + plain.rstd * plain.largest) +
                            std::abs(given.bias.at(c));
        REQUIRE(std::abs(result.y.at(i) - y) <= half_step(given.type, y) + reach * size);
      }
    }
    if (!given.parts.adds) CHECK(result.sum == TypedArray(ElementType::f32, given.rows * given.columns));
  });
}

TEST_CASE("residual and norm: gradients are those of the definition in double") {
  for_each_case([](NormCase& given, InstructionSet set) {
    const NormBackward result = run_backward(given, set);
    const auto columns = static_cast<std::size_t>(given.columns);
    std::vector<double> dweight(columns), dbias(columns), dbranch(columns), sizes(columns),
        branch_sizes(columns);
    for (std::int64_t row = 0; row < given.rows; ++row) {
      const PlainNorm plain(given, row);
      const std::vector<double> dx = plain.gradient(given, row);
      const double size = plain.gradient_size(given, row);
      const double reach = kFloatStep * (1 + static_cast<double>(given.columns) / 64) * size;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::int64_t i = row * given.columns + static_cast<std::int64_t>(c);
        REQUIRE(std::abs(result.dx.at(i) - dx[c]) <= reach);
        if (given.parts.wants_da)
          REQUIRE(std::abs(result.da.at(i) - dx[c]) <= half_step(given.type, dx[c]) + reach);
        const double dy = given.dy.at(i);
        dweight[c] += dy * plain.normal[c];
        dbias[c] += dy;
        dbranch[c] += dx[c];
        sizes[c] += std::abs(dy) * (1 + std::abs(plain.normal[c]) + plain.rstd * plain.largest);
        branch_sizes[c] += size;
      }
    }
    const double reach = kFloatStep * (1 + static_cast<double>(given.rows + given.columns) / 64);
    for (std::size_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::int64_t>(c);
      REQUIRE(std::abs(result.dweight.at(at) - dweight[c]) <= reach * sizes[c]);
      REQUIRE(std::abs(result.dbias.at(at) - dbias[c]) <= reach * sizes[c]);
      if (given.parts.has_bias)
        REQUIRE(std::abs(result.dbranch.at(at) - dbranch[c]) <= reach * branch_sizes[c]);
    }
  });
}

TEST_CASE("residual and norm: the gradient is the slope of the value") {
  NormCase given(ElementType::f32, 3, 33, {.has_dsum = false});
  const NormBackward result = run_backward(given, best_instruction_set());
  constexpr double kStep = 0x1p-12;
  const auto loss_of_row = [&](std::int64_t row) {  // sum of dy y, in double
    const PlainNorm plain(given, row);
    double sum = 0;
    for (std::int64_t c = 0; c < given.columns; ++c) {
      sum += given.dy.at(row * given.columns + c) *
             (plain.normal[static_cast<std::size_t>(c)] * given.weight.at(c) + given.bias.at(c));
    }
    return sum;
  };
  for (std::int64_t i = 0; i < given.x.size(); ++i) {
    const double value = given.x.at(i);
    given.x.set(i, value + kStep);
    const double more = given.x.at(i);
    const double above = loss_of_row(i / given.columns);
    given.x.set(i, value - kStep);
    const double below = loss_of_row(i / given.columns);
    const double less = given.x.at(i);
    given.x.set(i, value);
    REQUIRE(std::abs(result.dx.at(i) - (above - below) / (more - less)) <= 2e-5);
  }
}

TEST_CASE("residual and norm: any number of threads gives the same bits, in place too") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const ElementType type : kTypes) {
      NormCase given(type, 391, 97, {});
      const ThreadCount one(1);
      const NormForward forward = run_forward(given, set);
      const NormBackward backward = run_backward(given, set);
      for (const int threads : {2, 3, 8}) {
        const ThreadCount several(threads);
        CHECK(run_forward(given, set) == forward);
        CHECK(run_backward(given, set) == backward);
      }
      CHECK(run_forward(given, set, true) == forward);
      CHECK(run_backward(given, set, true) == backward);
    }
  }
}

TEST_CASE("residual and norm: an offset a thousand times the spread is taken out") {
  for (const InstructionSet set : instruction_sets_here()) {
    NormCase given(ElementType::f32, 5, 97, {.adds = false, .has_bias = false});
    for (std::int64_t i = 0; i < given.x.size(); ++i) given.x.set(i, given.x.at(i) + 4096);
    const NormForward result = run_forward(given, set);
    for (std::int64_t row = 0; row < 5; ++row) {
      CHECK(std::abs(result.rstd.at(row) / PlainNorm(given, row).rstd - 1) <= 1e-5);
    }
  }
}

TEST_CASE("residual and norm: what is not finite or too large spoils its own row only") {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const double odd : std::vector<double>{std::nan(""), INFINITY, -INFINITY, 1e30, 1e-40, -0.0}) {
      NormCase given(ElementType::f32, 3, 37, {});
      const NormForward before = run_forward(given, set);
      given.x.set(37 + 20, odd);
      const NormForward result = run_forward(given, set);
      INFO(name_of(set) << " " << odd);
      for (std::int64_t i = 0; i < 3 * 37; ++i) {
        if (i / 37 != 1) REQUIRE(result.y.at(i) == before.y.at(i));
        // Of 1e30 the square overflows: rstd is zero, and the row becomes the norm's bias, as in plain
        // float32.
        if (i / 37 == 1) REQUIRE(std::isnan(result.y.at(i)) == !std::isfinite(odd));
      }
      if (odd == 1e30) CHECK(result.rstd.at(1) == 0);
    }
  }
}

TEST_CASE("residual and norm: of no rows nothing is read, and the sums are zero") {
  TypedArray sums(ElementType::f32, 5);
  TypedArray scratch(ElementType::f32, column_sum_scratch(0, 5, 3));
  residual_norm_cpu(ResidualNormForward{.columns = 5});
  residual_norm_cpu(ResidualNormBackward{
      .columns = 5, .dweight = sums.floats(), .dbias = sums.floats(), .scratch = scratch.floats()});
  CHECK(sums.values() == std::vector<double>(5, 0));
  CHECK((sums.guards_hold() && scratch.guards_hold()));
}

TEST_CASE("residual and norm: bytes moved are those of every operand once") {
  const float some = 0;
  ResidualNormForward forward{
      .type = ElementType::bf16, .rows = 10, .columns = 3, .a = &some, .branch_bias = &some};
  CHECK(moved_bytes(forward) == 30 * (4 + 2 + 4 + 2) + 3 * 12 + 80);
  forward.a = forward.branch_bias = nullptr;
  CHECK(moved_bytes(forward) == 30 * (4 + 2) + 3 * 8 + 80);
  ResidualNormBackward backward{.type = ElementType::bf16, .rows = 10, .columns = 3};
  CHECK(moved_bytes(backward) == 30 * (4 + 2 + 4) + 3 * 12 + 80);
  float sums = 0;
  backward.dsum = backward.dbranch_bias = &sums;
  backward.da = &sums;
  CHECK(moved_bytes(backward) == 30 * (4 + 2 + 4 + 4 + 2) + 3 * 16 + 80);
}

}  // namespace isobar::test_residual_norm
