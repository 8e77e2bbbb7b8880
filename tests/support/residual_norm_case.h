#pragma once
// Inputs of a residual and norm, its plain form in double, and one call of each kernel with guards checked.

#include "kernels/column_sums.h"
#include "kernels/residual_norm.h"
#include "support/catch.h"
#include "support/typed_values.h"

namespace isobar {

struct NormParts {
  bool adds = true;
  bool has_bias = true;  ///< of the branch
  bool has_dsum = true;
  bool wants_da = true;
};

struct NormCase {
  NormCase(ElementType type, std::int64_t rows, std::int64_t columns, NormParts parts)
      : type(type),
        rows(rows),
        columns(columns),
        parts(parts),
        x(ElementType::f32, random_values(rows * columns, 1)),
        a(type, random_values(rows * columns, 2)),
        branch_bias(ElementType::f32, random_values(columns, 3, 1)),
        weight(ElementType::f32, random_values(columns, 4, 2)),
        bias(ElementType::f32, random_values(columns, 5, 1)),
        dy(type, random_values(rows * columns, 6)),
        dsum(ElementType::f32, random_values(rows * columns, 7)) {}

  ElementType type;
  std::int64_t rows;
  std::int64_t columns;
  NormParts parts;
  TypedArray x, a, branch_bias, weight, bias, dy, dsum;
};

/// One row by the definition.
struct PlainNorm {
  PlainNorm(const NormCase& given, std::int64_t row) {
    const auto count = static_cast<double>(given.columns);
    for (std::int64_t c = 0; c < given.columns; ++c) {
      const std::int64_t i = row * given.columns + c;
      double value = given.x.at(i);
      if (given.parts.adds) value += given.a.at(i) + (given.parts.has_bias ? given.branch_bias.at(c) : 0);
      sum.push_back(value);
      mean += value / count;
      largest = std::max(largest, std::abs(value));
    }
    double variance = 0;
    for (const double value : sum) variance += (value - mean) * (value - mean) / count;
    rstd = 1 / std::sqrt(variance + static_cast<double>(1e-6F));
    for (const double value : sum) normal.push_back((value - mean) * rstd);
  }

  std::vector<double> gradient(const NormCase& given, std::int64_t row) const {
    const auto count = static_cast<double>(given.columns);
    std::vector<double> g;
    double mean_g = 0;
    double mean_gn = 0;
    for (std::int64_t c = 0; c < given.columns; ++c) {
      g.push_back(given.dy.at(row * given.columns + c) * given.weight.at(c));
      mean_g += g.back() / count;
      mean_gn += g.back() * normal[static_cast<std::size_t>(c)] / count;
    }
    for (std::int64_t c = 0; c < given.columns; ++c) {
      const auto at = static_cast<std::size_t>(c);
      g[at] = (given.parts.has_dsum ? given.dsum.at(row * given.columns + c) : 0) +
              rstd * (g[at] - mean_g - normal[at] * mean_gn);
    }
    return g;
  }

  /// What roundings in a row's gradient are measured against.
  double gradient_size(const NormCase& given, std::int64_t row) const {
    double largest_g = 0;
    double largest_n = 0;
    for (std::int64_t c = 0; c < given.columns; ++c) {
      largest_g = std::max(largest_g, std::abs(given.dy.at(row * given.columns + c) * given.weight.at(c)));
      largest_n = std::max(largest_n, std::abs(normal[static_cast<std::size_t>(c)]));
    }
    return 3 + rstd * largest_g * (1 + largest_n) * (1 + largest_n + rstd * largest);
  }

  std::vector<double> sum;
  std::vector<double> normal;
  double mean = 0;
  double rstd = 0;
  double largest = 0;
};

struct NormForward {
  TypedArray sum, y, mean, rstd;
  bool operator==(const NormForward&) const = default;
};

inline NormForward run_forward(NormCase& given, InstructionSet set, bool in_place = false) {
  NormForward out{{ElementType::f32, given.rows * given.columns},
                  {given.type, given.rows * given.columns},
                  {ElementType::f32, given.rows},
                  {ElementType::f32, given.rows}};
  if (in_place) out.sum = given.x;
  residual_norm_cpu(
      ResidualNormForward{.type = given.type,
                          .rows = given.rows,
                          .columns = given.columns,
                          .x = in_place ? out.sum.floats() : given.x.floats(),
                          .a = given.parts.adds ? given.a.data() : nullptr,
                          .branch_bias = given.parts.has_bias ? given.branch_bias.floats() : nullptr,
                          .weight = given.weight.floats(),
                          .bias = given.bias.floats(),
                          .sum = out.sum.floats(),
                          .y = out.y.data(),
                          .mean = out.mean.floats(),
                          .rstd = out.rstd.floats()},
      set);
  for (const TypedArray* array : {&out.sum, &out.y, &out.mean, &out.rstd}) CHECK(array->guards_hold());
  return out;
}

struct NormBackward {
  TypedArray dx, da, dweight, dbias, dbranch;
  bool operator==(const NormBackward&) const = default;
};

/// With sum, mean and rstd of the plain form.
inline NormBackward run_backward(NormCase& given, InstructionSet set, bool in_place = false) {
  TypedArray sum(ElementType::f32, given.rows * given.columns);
  TypedArray mean(ElementType::f32, given.rows);
  TypedArray rstd(ElementType::f32, given.rows);
  for (std::int64_t row = 0; row < given.rows; ++row) {
    const PlainNorm plain(given, row);
    mean.set(row, plain.mean);
    rstd.set(row, plain.rstd);
    for (std::int64_t c = 0; c < given.columns; ++c) {
      sum.set(row * given.columns + c, plain.sum[static_cast<std::size_t>(c)]);
    }
  }
  NormBackward out{{ElementType::f32, given.rows * given.columns},
                   {given.type, given.rows * given.columns},
                   {ElementType::f32, given.columns},
                   {ElementType::f32, given.columns},
                   {ElementType::f32, given.columns}};
  if (in_place) out.dx = given.dsum;
  TypedArray scratch(ElementType::f32, column_sum_scratch(given.rows, given.columns, 3));
  const float* const dsum = in_place ? out.dx.floats() : given.dsum.floats();
  residual_norm_cpu(
      ResidualNormBackward{.type = given.type,
                           .rows = given.rows,
                           .columns = given.columns,
                           .sum = sum.floats(),
                           .mean = mean.floats(),
                           .rstd = rstd.floats(),
                           .weight = given.weight.floats(),
                           .dy = given.dy.data(),
                           .dsum = given.parts.has_dsum ? dsum : nullptr,
                           .dx = out.dx.floats(),
                           .da = given.parts.wants_da ? out.da.data() : nullptr,
                           .dweight = out.dweight.floats(),
                           .dbias = out.dbias.floats(),
                           .dbranch_bias = given.parts.has_bias ? out.dbranch.floats() : nullptr,
                           .scratch = scratch.floats()},
      set);
  for (const TypedArray* array : {&out.dx, &out.da, &out.dweight, &out.dbias, &out.dbranch, &scratch}) {
    CHECK(array->guards_hold());
  }
  return out;
}

}  // namespace isobar
