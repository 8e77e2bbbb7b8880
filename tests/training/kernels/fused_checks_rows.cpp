// The checks of the kernels that work on whole rows and whole samples.

#include "kernels/column_sums.h"
#include "kernels/fused_checks.h"
#include "kernels/kernel_buffer.h"
#include "support/catch.h"

namespace isobar {
namespace {

constexpr double kRow = 4e-6;            // of a row's largest value over its spread, in float32 arithmetic
constexpr double kSum = 4e-6;            // of the sum of all sizes, for sums in float32
constexpr double kDifference = 0x1p-23;  // of what a row's value and its mean may be, in float32

std::vector<float> zeros(std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n), 0.0F); }

/// Forward and backward of residual and norm in double.
struct NormReference {
  std::vector<double> sum, y, mean, rstd, dx, dweight, dbias, dbranch;
  std::vector<double> dweight_size, dbias_size, dbranch_size;  ///< sums of sizes
};

struct NormInput {
  std::vector<float> x, a, branch_bias, weight, bias, dy, dsum;
};

NormInput norm_input(const KernelCase& test, const NormOperands& parts) {
  const std::int64_t n = test.rows * test.columns;
  NormInput out;
  out.x = drawn("x", n, test.scale);
  out.a = parts.branch ? stored(test.type, drawn("a", n, test.scale)) : zeros(n);
  out.branch_bias =
      parts.branch && parts.branch_bias ? drawn("branch", test.columns, 1) : zeros(test.columns);
  out.weight = drawn("weight", test.columns, 1.5);
  out.bias = drawn("bias", test.columns, 0.5);
  out.dy = stored(test.type, drawn("dy", n, 1));
  out.dsum = parts.direct ? drawn("dsum", n, 1) : zeros(n);
  return out;
}

void add_row(NormReference& out, const NormInput& in, std::size_t row, std::size_t columns, double eps) {
  const std::size_t begin = row * columns;
  double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    out.sum.push_back(static_cast<double>(in.x[begin + c]) + in.a[begin + c] + in.branch_bias[c]);
    mean += out.sum.back() / static_cast<double>(columns);
  }
  for (std::size_t c = 0; c < columns; ++c)
    variance += std::pow(out.sum[begin + c] - mean, 2) / static_cast<double>(columns);
  const double rstd = 1 / std::sqrt(variance + eps);
  for (std::size_t c = 0; c < columns; ++c) {
    const double n = (out.sum[begin + c] - mean) * rstd;
    const double g = static_cast<double>(in.dy[begin + c]) * in.weight[c];
    out.y.push_back(n * in.weight[c] + in.bias[c]);
    mean_g += g / static_cast<double>(columns);
    mean_gn += g * n / static_cast<double>(columns);
    out.dweight[c] += in.dy[begin + c] * n;
    // A row's value less its mean is a difference of larger numbers: their rounding stays.
    out.dweight_size[c] += std::abs(in.dy[begin + c]) * (std::abs(n) + kDifference / kSum);
    out.dbias[c] += in.dy[begin + c];
    out.dbias_size[c] += std::abs(in.dy[begin + c]);
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const double n = (out.sum[begin + c] - mean) * rstd;
    const double g = static_cast<double>(in.dy[begin + c]) * in.weight[c];
    out.dx.push_back(in.dsum[begin + c] + rstd * (g - mean_g - n * mean_gn));
    out.dbranch[c] += out.dx.back();
    out.dbranch_size[c] += std::abs(in.dsum[begin + c]) + rstd * (std::abs(g) + 2);
  }
  out.mean.push_back(mean);
  out.rstd.push_back(rstd);
}

NormReference norm_reference(const KernelCase& test, const NormInput& in, double eps) {
  NormReference out;
  const auto columns = static_cast<std::size_t>(test.columns);
  for (auto* sums :
       {&out.dweight, &out.dbias, &out.dbranch, &out.dweight_size, &out.dbias_size, &out.dbranch_size})
    sums->assign(columns, 0);
  for (std::size_t row = 0; row < static_cast<std::size_t>(test.rows); ++row)
    add_row(out, in, row, columns, eps);
  return out;
}

/// What the kernels made of it.
struct NormResult {
  std::vector<float> sum, y, mean, rstd, dx, da, dweight, dbias, dbranch;
};

void require_norm(const KernelCase& test, const NormOperands& parts, const NormReference& expected,
                  const NormResult& found) {
  constexpr ElementType f32 = ElementType::f32;
  const auto columns = static_cast<std::size_t>(test.columns);
  const auto row_error = [&](std::size_t i) {
    return kRow * (1 + test.scale * expected.rstd[i / columns]) * (1 + std::abs(expected.y[i]));
  };
  require_near("sum", f32, found.sum, expected.sum, [&](std::size_t) { return 1e-6 * (test.scale + 1); });
  require_near("mean", f32, found.mean, expected.mean, [&](std::size_t) { return kRow * test.scale; });
  require_near("rstd", f32, found.rstd, expected.rstd,
               [&](std::size_t i) { return kRow * expected.rstd[i] * (1 + test.scale * expected.rstd[i]); });
  require_near("y", test.type, found.y, expected.y, row_error);
  const auto dx_error = [&](std::size_t i) { return row_error(i) * (1 + 4 * expected.rstd[i / columns]); };
  require_near("dx", f32, found.dx, expected.dx, dx_error);
  if (parts.cast) require_near("da", test.type, found.da, expected.dx, dx_error);
  double largest_rstd = 1;
  for (const double value : expected.rstd) largest_rstd = std::max(largest_rstd, value);
  const auto sum_error = [&](const std::vector<double>& sizes) {
    return [&, factor = kSum * (1 + test.scale * largest_rstd)](std::size_t i) {
      return factor * (sizes[i] + 1e-6);
    };
  };
  require_near("dweight", f32, found.dweight, expected.dweight, sum_error(expected.dweight_size));
  require_near("dbias", f32, found.dbias, expected.dbias, sum_error(expected.dbias_size));
  if (parts.branch_bias)
    require_near("dbranch_bias", f32, found.dbranch, expected.dbranch, sum_error(expected.dbranch_size));
}

/// Where the values of a head lie, and the definition.
struct HeadReference {
  std::vector<double> sums;     ///< [B, 2]
  std::vector<double> dtokens;  ///< in the order of the tokens
  double loss = 0;
};

template <typename Visit>
void for_each_value(const HeadLossShape& s, const Visit& visit) {
  const std::int64_t across = s.width / s.patch;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      for (std::int64_t h = 0; h < s.height; ++h) {
        for (std::int64_t w = 0; w < s.width; ++w) {
          const std::int64_t token = (b * (s.height / s.patch) + h / s.patch) * across + w / s.patch;
          const std::int64_t in_token = (h % s.patch * s.patch + w % s.patch) * s.channels + c;
          visit(static_cast<std::size_t>(b),
                static_cast<std::size_t>(token * s.patch * s.patch * s.channels + in_token),
                static_cast<std::size_t>(((b * s.channels + c) * s.height + h) * s.width + w));
        }
      }
    }
  }
}

HeadReference head_reference(const HeadLossShape& s, const std::vector<float>& tokens,
                             const std::vector<float>& target, double dloss) {
  HeadReference out;
  out.sums.assign(static_cast<std::size_t>(2 * s.batch), 0);
  out.dtokens.assign(tokens.size(), 0);
  for_each_value(s, [&](std::size_t b, std::size_t token, std::size_t place) {
    out.sums[2 * b] += std::pow(static_cast<double>(tokens[token]) - target[place], 2);
    out.sums[2 * b + 1] += std::pow(static_cast<double>(target[place]), 2);
  });
  const auto batch = static_cast<double>(s.batch);
  for (std::size_t b = 0; b < out.sums.size() / 2; ++b)
    out.loss += std::sqrt(out.sums[2 * b] / out.sums[2 * b + 1]) / batch;
  for_each_value(s, [&](std::size_t b, std::size_t token, std::size_t place) {
    const double root = std::sqrt(out.sums[2 * b] * out.sums[2 * b + 1]);
    out.dtokens[token] = dloss / (batch * root) * (static_cast<double>(tokens[token]) - target[place]);
  });
  return out;
}

}  // namespace

void check_residual_norm(KernelPlace& place, const KernelCase& test, const NormOperands& parts) {
  INFO("residual_norm " << test.text() << " branch " << parts.branch << parts.branch_bias << " direct "
                        << parts.direct << " cast " << parts.cast);
  const NormInput in = norm_input(test, parts);
  const std::int64_t n = test.rows * test.columns;
  const ElementType f32 = ElementType::f32;
  KernelBuffer x(place, f32, in.x, test.offset), a(place, test.type, in.a, test.offset);
  KernelBuffer branch_bias(place, f32, in.branch_bias, test.offset),
      weight(place, f32, in.weight, test.offset);
  KernelBuffer bias(place, f32, in.bias, test.offset), own_sum(place, f32, zeros(n), test.offset);
  KernelBuffer y(place, test.type, zeros(n), test.offset);
  KernelBuffer mean(place, f32, zeros(test.rows), 0), rstd(place, f32, zeros(test.rows), 0);
  KernelBuffer& sum = test.in_place || !parts.branch ? x : own_sum;
  ResidualNormForward forward{test.type, test.rows, test.columns, x.as<float>()};
  forward.a = parts.branch ? a.data() : nullptr;
  forward.branch_bias = parts.branch && parts.branch_bias ? branch_bias.as<float>() : nullptr;
  forward.weight = weight.as<float>();
  forward.bias = bias.as<float>();
  forward.sum = parts.branch ? sum.as<float>() : nullptr;
  forward.y = y.data();
  forward.mean = mean.as<float>();
  forward.rstd = rstd.as<float>();
  run_twice({&sum, &y, &mean, &rstd}, [&] { place.compute(forward); });

  KernelBuffer dy(place, test.type, in.dy, test.offset), dsum(place, f32, in.dsum, test.offset);
  KernelBuffer own_dx(place, f32, zeros(n), test.offset), da(place, test.type, zeros(n), test.offset);
  KernelBuffer dweight(place, f32, zeros(test.columns), 0), dbias(place, f32, zeros(test.columns), 0);
  KernelBuffer dbranch(place, f32, zeros(test.columns), 0);
  KernelBuffer scratch(place, f32, zeros(column_sum_scratch(test.rows, test.columns, 3)), 0);
  KernelBuffer& dx = test.in_place && parts.direct ? dsum : own_dx;
  ResidualNormBackward backward{test.type, test.rows, test.columns, sum.as<float>()};
  backward.mean = mean.as<float>();
  backward.rstd = rstd.as<float>();
  backward.weight = weight.as<float>();
  backward.dy = dy.data();
  backward.dsum = parts.direct ? dsum.as<float>() : nullptr;
  backward.dx = dx.as<float>();
  backward.da = parts.cast ? da.data() : nullptr;
  backward.dweight = dweight.as<float>();
  backward.dbias = dbias.as<float>();
  backward.dbranch_bias = parts.branch_bias ? dbranch.as<float>() : nullptr;
  backward.scratch = scratch.as<float>();
  run_twice({&dx, &da, &dweight, &dbias, &dbranch}, [&] { place.compute(backward); });
  scratch.bytes();

  const NormReference expected = norm_reference(test, in, forward.eps);
  require_norm(test, parts, expected,
               {sum.values(), y.values(test.type), mean.values(), rstd.values(), dx.values(),
                da.values(test.type), dweight.values(), dbias.values(), dbranch.values()});
  place.drop();
}

void check_head_loss(KernelPlace& place, const KernelCase& test, const HeadLossShape& shape) {
  INFO("head_loss " << test.text() << " " << shape.batch << " x " << shape.channels << " x " << shape.height
                    << " x " << shape.width << " patch " << shape.patch);
  const std::int64_t n = shape.batch * shape.channels * shape.height * shape.width;
  const std::vector<float> token_values = stored(test.type, drawn("tokens", n, test.scale));
  const std::vector<float> target_values = drawn("target", n, test.scale);
  const float upstream = 65536;
  KernelBuffer tokens(place, test.type, token_values, test.offset);
  KernelBuffer target(place, ElementType::f32, target_values, test.offset);
  KernelBuffer own_dtokens(place, test.type, zeros(n), test.offset);
  KernelBuffer sums(place, std::vector<std::byte>(static_cast<std::size_t>(shape.batch) * 16), 0);
  KernelBuffer loss(place, ElementType::f32, {0}, 0);
  KernelBuffer dloss(place, ElementType::f32, {upstream}, 0);
  KernelBuffer scratch(place, std::vector<std::byte>(static_cast<std::size_t>(head_loss_scratch(shape)) * 8),
                       0);
  run_twice({&sums, &loss}, [&] {
    place.compute(HeadLossForward{test.type, shape, tokens.data(), target.as<float>(), sums.as<double>(),
                                  loss.as<float>(), scratch.as<double>()});
  });
  scratch.bytes();
  KernelBuffer& dtokens = test.in_place ? tokens : own_dtokens;
  run_twice({&dtokens}, [&] {
    place.compute(HeadLossBackward{test.type, shape, tokens.data(), target.as<float>(), sums.as<double>(),
                                   dloss.as<float>(), dtokens.data()});
  });
  const HeadReference expected = head_reference(shape, token_values, target_values, upstream);
  const std::vector<double> found = sums.values_as<double>();
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(std::abs(found[i] - expected.sums[i]) <= 1e-12 * expected.sums[i]);
  CHECK(std::abs(static_cast<double>(loss.values()[0]) - expected.loss) <= 1e-6 * expected.loss);
  require_near("dtokens", test.type, dtokens.values(test.type), expected.dtokens,
               [&](std::size_t i) { return 1e-6 * std::abs(expected.dtokens[i]) + 1e-40; });
  place.drop();
}

void check_perfect_head(KernelPlace& place, const HeadLossShape& shape) {
  const std::int64_t n = shape.batch * shape.channels * shape.height * shape.width;
  const std::vector<float> ones(static_cast<std::size_t>(n), 1.0F);
  KernelBuffer tokens(place, ElementType::f32, ones, 0), target(place, ElementType::f32, ones, 0);
  KernelBuffer dtokens(place, ElementType::f32, ones, 0), loss(place, ElementType::f32, {7}, 0);
  KernelBuffer sums(place, std::vector<std::byte>(static_cast<std::size_t>(shape.batch) * 16), 0);
  KernelBuffer dloss(place, ElementType::f32, {1}, 0);
  KernelBuffer scratch(place, std::vector<std::byte>(static_cast<std::size_t>(head_loss_scratch(shape)) * 8),
                       0);
  place.compute(HeadLossForward{ElementType::f32, shape, tokens.data(), target.as<float>(), sums.as<double>(),
                                loss.as<float>(), scratch.as<double>()});
  place.compute(HeadLossBackward{ElementType::f32, shape, tokens.data(), target.as<float>(),
                                 sums.as<double>(), dloss.as<float>(), dtokens.data()});
  CHECK(loss.values()[0] == 0);
  CHECK(dtokens.values() == zeros(n));
  place.drop();
}

void check_all_residual_norm(KernelPlace& place, bool large) {
  for (const ElementType type : kElementTypes) {
    for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1},
                                                                                          {3, 4},
                                                                                          {70, 96},
                                                                                          {66, 130},
                                                                                          {5, 132},
                                                                                          {9, 384},
                                                                                          {2, 516},
                                                                                          {3, 1000},
                                                                                          {2, 1100},
                                                                                          {0, 8}}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        check_residual_norm(place, {type, rows, columns, offset, 2, false}, {});
      }
    }
    for (const std::int64_t columns : {40, 41}) {
      for (const NormOperands& parts :
           {NormOperands{false, false, true, true}, NormOperands{true, false, false, true},
            NormOperands{true, true, true, false}}) {
        check_residual_norm(place, {type, 67, columns, 0, 2, false}, parts);
      }
      check_residual_norm(place, {type, 67, columns, 0, 2, true}, {});
      check_residual_norm(place, {type, 5, columns, 0, 1e3, false}, {});
    }
    if (large) {
      check_residual_norm(place, {type, 40'000, 384, 0, 2, false}, {});
      check_residual_norm(place, {type, 4'000, 1024, 0, 2, false}, {});
    }
  }
  check_residual_norm(place, {ElementType::f32, 33'000, 4, 0, 2, false}, {});  // several rounds of blocks
  check_residual_norm(place, {ElementType::f32, 8'300, 3, 0, 2, false}, {});
}

void check_all_head_loss(KernelPlace& place, bool large) {
  for (const ElementType type : kElementTypes) {
    for (const HeadLossShape& shape :
         {HeadLossShape{1, 1, 1, 1, 1}, HeadLossShape{2, 3, 6, 9, 3}, HeadLossShape{2, 20, 16, 24, 8},
          HeadLossShape{9, 5, 8, 8, 4}, HeadLossShape{1, 20, 8, 144, 8}, HeadLossShape{1, 300, 2, 40, 2}}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        check_head_loss(place, {type, 0, 0, offset, 2, false}, shape);
      }
      check_head_loss(place, {type, 0, 0, 0, 2, true}, shape);
    }
    check_head_loss(place, {type, 0, 0, 0, type == ElementType::f32 ? 1e18 : 1e4, false}, {2, 20, 16, 24, 8});
    if (large) check_head_loss(place, {type, 0, 0, 0, 2, false}, {4, 20, 360, 720, 8});
  }
  check_head_loss(place, {ElementType::f32, 0, 0, 0, 2, false}, {1, 2, 300, 4, 2});  // several tiles a piece
  check_head_loss(place, {ElementType::f32, 0, 0, 0, 2, true},
                  {1, 4, 4200, 1, 1});  // several rounds of blocks
  check_perfect_head(place, {2, 20, 16, 24, 8});
}

}  // namespace isobar
