#include "kernels/fused_checks.h"

#include <numbers>

#include "kernels/column_sums.h"
#include "kernels/kernel_buffer.h"
#include "support/catch.h"

namespace isobar {
namespace {

constexpr double kPointwise = 2e-6;  // of the size of what is computed with, in float32 arithmetic
constexpr double kSum = 2e-6;        // of the sum of all sizes, for sums in float32

double gelu(double u, bool tanh_form) {
  if (!tanh_form) return u / 2 * std::erfc(-u / std::numbers::sqrt2);
  return u / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (u + 0.044715 * u * u * u)));
}

double gelu_slope(double u, bool tanh_form) {
  if (!tanh_form) {
    return std::erfc(-u / std::numbers::sqrt2) / 2 +
           u * std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi);
  }
  const double rate = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(rate * (u + 0.044715 * u * u * u));
  return (1 + t) / 2 + u / 2 * (1 - t * t) * rate * (1 + 3 * 0.044715 * u * u);
}

std::vector<float> zeros(std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n), 0.0F); }

}  // namespace

std::string KernelCase::text() const {
  static constexpr const char* kNames[] = {"f32", "f16", "bf16"};
  return std::string(kNames[static_cast<int>(type)]) + " [" + std::to_string(rows) + ", " +
         std::to_string(columns) + "] offset " + std::to_string(offset) + " scale " + std::to_string(scale) +
         (in_place ? " in place" : "");
}

void check_bias_gelu(KernelPlace& place, const KernelCase& test, bool tanh_form) {
  INFO("bias_gelu " << test.text() << (tanh_form ? " tanh" : ""));
  const std::int64_t n = test.rows * test.columns;
  const std::vector<float> x_values = stored(test.type, drawn("x", n, test.scale));
  const std::vector<float> dy_values = stored(test.type, drawn("dy", n, 1));
  const std::vector<float> bias_values = drawn("bias", test.columns, 1);
  KernelBuffer x(place, test.type, x_values, test.offset);
  KernelBuffer bias(place, ElementType::f32, bias_values, test.offset);
  KernelBuffer own_y(place, test.type, zeros(n), test.offset);
  KernelBuffer dy(place, test.type, dy_values, test.offset);
  KernelBuffer own_dx(place, test.type, zeros(n), test.offset);
  KernelBuffer dbias(place, ElementType::f32, zeros(test.columns), test.offset);
  KernelBuffer scratch(place, ElementType::f32, zeros(column_sum_scratch(test.rows, test.columns, 1)),
                       test.offset);
  KernelBuffer& y = test.in_place ? x : own_y;
  KernelBuffer& dx = test.in_place ? dy : own_dx;

  run_twice({&dx, &dbias}, [&] {
    place.compute(BiasGeluBackward{test.type, test.rows, test.columns, x.data(), bias.as<float>(), dy.data(),
                                   dx.data(), dbias.as<float>(), scratch.as<float>(), tanh_form});
  });
  run_twice({&y}, [&] {
    place.compute(
        BiasGeluForward{test.type, test.rows, test.columns, x.data(), bias.as<float>(), y.data(), tanh_form});
  });
  scratch.bytes();

  std::vector<double> expected_y, expected_dx;
  std::vector<double> sums(static_cast<std::size_t>(test.columns)), sizes(sums.size());
  for (std::size_t i = 0; i < x_values.size(); ++i) {
    const std::size_t column = i % sums.size();
    const double u = static_cast<double>(x_values[i] + bias_values[column]);  // their sum is float32
    expected_y.push_back(gelu(u, tanh_form));
    expected_dx.push_back(dy_values[i] * gelu_slope(u, tanh_form));
    sums[column] += expected_dx.back();
    sizes[column] += std::abs(dy_values[i]);
  }
  // 1 + erf(u / sqrt 2) is rounded at one: far below zero that is all of it, times u.
  require_near("y", test.type, y.values(test.type), expected_y, [&](std::size_t i) {
    const double u = std::abs(static_cast<double>(x_values[i]) + bias_values[i % sums.size()]);
    return 2e-7 * u + kPointwise * std::abs(expected_y[i]);
  });
  require_near("dx", test.type, dx.values(test.type), expected_dx,
               [&](std::size_t i) { return kPointwise * std::abs(dy_values[i]); });
  require_near("dbias", ElementType::f32, dbias.values(), sums,
               [&](std::size_t i) { return kSum * sizes[i] + 1e-12; });
  place.drop();
}

void check_adam(KernelPlace& place, std::int64_t n, std::size_t offset, const AdamControl& control) {
  INFO("adam " << n << " offset " << offset << " t " << control.steps << " skip " << control.skip);
  const std::vector<float> w_values = drawn("weights", n, 1);
  const std::vector<float> g_values = drawn("gradients", n, 0.1 / control.inverse_scale);
  const std::vector<float> m_values = drawn("mean", n, 0.01);
  std::vector<float> v_values = drawn("square", n, 0.001);
  for (float& value : v_values) value = std::abs(value);
  KernelBuffer w(place, ElementType::f32, w_values, offset);
  KernelBuffer g(place, ElementType::f32, g_values, offset);
  KernelBuffer m(place, ElementType::f32, m_values, offset);
  KernelBuffer v(place, ElementType::f32, v_values, offset);
  KernelBuffer there(place, ElementType::f32,
                     {control.learning_rate, control.steps, control.inverse_scale, control.skip}, 0);
  AdamStep job;
  job.n = n;
  job.weights = w.as<float>();
  job.gradients = g.as<float>();
  job.mean = m.as<float>();
  job.square = v.as<float>();
  job.control = there.as<AdamControl>();
  run_twice({&w, &m, &v}, [&] { place.compute(job); });
  if (control.skip != 0) {
    CHECK(w.values() == w_values);
    CHECK(m.values() == m_values);
    CHECK(v.values() == v_values);
    return place.drop();
  }
  std::vector<double> expected_w, expected_m, expected_v;
  for (std::size_t i = 0; i < w_values.size(); ++i) {
    const double gradient = static_cast<double>(g_values[i]) * control.inverse_scale;
    expected_m.push_back(job.beta1 * m_values[i] + (1 - job.beta1) * gradient);
    expected_v.push_back(job.beta2 * v_values[i] + (1 - job.beta2) * gradient * gradient);
    const double mean = expected_m.back() / (1 - std::pow(job.beta1, control.steps));
    const double square = expected_v.back() / (1 - std::pow(job.beta2, control.steps));
    expected_w.push_back(w_values[i] - control.learning_rate * mean / (std::sqrt(square) + job.eps));
  }
  // A mean near zero is a difference of larger numbers: their rounding stays, over the root of the square.
  require_near("mean", ElementType::f32, m.values(), expected_m,
               [](std::size_t) { return kPointwise * 0.02; });
  require_near("square", ElementType::f32, v.values(), expected_v,
               [&](std::size_t i) { return kPointwise * expected_v[i]; });
  require_near("weights", ElementType::f32, w.values(), expected_w, [&](std::size_t i) {
    const double mean_error = kPointwise * 0.02 / (1 - std::pow(job.beta1, control.steps));
    const double root = std::sqrt(expected_v[i] / (1 - std::pow(job.beta2, control.steps)));
    return kPointwise + control.learning_rate * mean_error / (root + job.eps);
  });
  place.drop();
}

void check_gradient_norm(KernelPlace& place, std::int64_t n, std::size_t offset, std::int64_t bad_every) {
  INFO("gradient_norm " << n << " offset " << offset << " bad_every " << bad_every);
  std::vector<float> values = drawn("gradients", n, 1e25);  // squares are beyond float32
  std::int64_t bad = 0;
  for (std::int64_t i = bad_every - 1; bad_every > 0 && i < n; i += bad_every, ++bad) {
    const float kinds[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()};
    values[static_cast<std::size_t>(i)] = kinds[bad % 3];
  }
  KernelBuffer gradients(place, ElementType::f32, values, offset);
  KernelBuffer sum(place, std::vector<std::byte>(sizeof(double), std::byte{0x11}), 0);
  KernelBuffer count(place, std::vector<std::byte>(sizeof(std::int64_t), std::byte{0x11}), 0);
  KernelBuffer scratch(place, std::vector<std::byte>(kGradientNormScratch * sizeof(double)), 0);
  run_twice({&sum, &count}, [&] {
    place.compute(GradientNorm{n, gradients.as<float>(), sum.as<double>(), count.as<std::int64_t>(),
                               scratch.as<double>()});
  });
  scratch.bytes();
  long double exact = 0;  // in double the rounding of 24 million sums is what the check allows
  for (const float value : values) exact += static_cast<long double>(value) * value;
  const auto expected = static_cast<double>(exact);
  CHECK(count.values_as<std::int64_t>()[0] == bad);
  const double found = sum.values_as<double>()[0];
  if (bad > 0) {
    CHECK_FALSE(std::isfinite(found));
  } else {
    CHECK(std::abs(found - expected) <= 1e-12 * expected);
  }
  place.drop();
}

void check_all_bias_gelu(KernelPlace& place, bool large) {
  for (const ElementType type : kElementTypes) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 8}, {65, 24}, {130, 7}, {5, 520}}) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        check_bias_gelu(place, {type, rows, columns, offset, 3, false});
      }
    }
    check_bias_gelu(place, {type, 67, 40, 0, 3, true});
    check_bias_gelu(place, {type, 9, 40, 0, 30, false});  // far out, where one or all of it is left
    check_bias_gelu(place, {type, 67, 40, 0, 3, false}, /*tanh_form=*/true);
    if (large) check_bias_gelu(place, {type, 20'000, 1536, 0, 3, false});
  }
  check_bias_gelu(place, {ElementType::f32, 0, 16, 0, 1, false});         // dbias is zero
  check_bias_gelu(place, {ElementType::f32, 4'200'000, 1, 0, 3, false});  // more than one round of all blocks
}

void check_all_adam(KernelPlace& place, bool large) {
  std::vector<std::int64_t> lengths = {1, 3, 4, 1027, 530'003};
  if (large) lengths.push_back(24'000'003);
  for (const std::int64_t n : lengths) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      check_adam(place, n, offset, {1e-3F, 1, 1, 0});
      check_adam(place, n, offset, {1e-3F, 300, 1.0F / 65536, 0});
      check_adam(place, n, offset, {1e-3F, 7, 1, 1});
    }
  }
}

void check_all_gradient_norm(KernelPlace& place, bool large) {
  std::vector<std::int64_t> lengths = {0, 1, 5, 4096, 100'003};
  if (large) lengths.push_back(24'000'003);
  for (const std::int64_t n : lengths) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{3}}) {
      check_gradient_norm(place, n, offset, 0);
      if (n > 4) check_gradient_norm(place, n, offset, 5);
    }
  }
}

}  // namespace isobar
