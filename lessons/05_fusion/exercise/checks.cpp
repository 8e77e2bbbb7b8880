// What is asked of my/05_bias_gelu.cpp, easy things first.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "05_fusion/exercise/page_passes.h"
#include "05_fusion/exercise/part.h"
#include "check/check.h"

// A function of all sanitizers; g++ 12 comes without the header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void*, std::size_t),
                                                         void (*given)(const volatile void*));

namespace isobar {
namespace exercise {
namespace {

using Values = std::vector<float>;

constexpr float kUnwritten = 77.0F;

double phi(double u) { return std::exp(-0.5 * u * u) / std::sqrt(2 * 3.14159265358979323846); }
double below(double u) { return 0.5 * std::erfc(-u / std::sqrt(2.0)); }
double gelu(double u) { return u * below(u); }
double slope(double u) { return below(u) + u * phi(u); }
double tanh_gelu(double u) {
  return 0.5 * u * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (u + 0.044715 * u * u * u)));
}

bool is_near(double came, double wanted, double scale = 1) {
  return std::abs(came - wanted) <= 1e-5 * std::max(1.0, std::abs(scale));
}

/// Numbers that are equal on every machine, in -3 .. 3: multiples of 1/8, so that sums are exact; `odd` ones
/// or even ones.
Values drawn(std::size_t count, unsigned seed, bool odd = false) {
  Values out(count);
  unsigned state = seed * 2654435761U + 12345U;
  for (float& value : out) {
    state = state * 1664525U + 1013904223U;
    const int step = 2 * (static_cast<int>((state >> 16) % 12U) + 1) - (odd ? 1 : 0);
    value = static_cast<float>((state & 0x8000U) != 0 ? step : -step) / 8.0F;
  }
  return out;
}

struct Case {
  std::size_t rows;
  std::size_t columns;
  Values x, bias, dy;

  Case(std::size_t row_count, std::size_t column_count)
      : rows(row_count),
        columns(column_count),
        x(drawn(rows * columns, 1, /*odd=*/true)),  // x + b is never 0
        bias(drawn(columns, 2)),
        dy(drawn(rows * columns, 3)) {}

  double u(std::size_t i) const { return static_cast<double>(x[i]) + static_cast<double>(bias[i % columns]); }
  double dx(std::size_t i) const { return static_cast<double>(dy[i]) * slope(u(i)); }
  std::string place(std::size_t i) const {
    return fmt::format("[{}, {}] of {} x {}", i / columns, i % columns, rows, columns);
  }
  template <class Term>
  double column_sum(std::size_t column, const Term& term) const {
    double sum = 0;
    for (std::size_t i = column; i < x.size(); i += columns) sum += term(i);
    return sum;
  }
};

struct Gradients {
  Values dx, dbias;
};

Gradients backward(const Part& part, const Case& c) {
  Gradients out{Values(c.x.size(), kUnwritten), Values(c.columns, kUnwritten)};
  part.bias_gelu_backward(c.x, c.bias, c.dy, out.dx, out.dbias);
  return out;
}

/// What `came` is instead: the first of `known` that fits.
std::string words(double came, const std::vector<std::pair<double, const char*>>& known) {
  std::string out = fmt::format("{:.5f}", came);
  if (is_near(came, static_cast<double>(kUnwritten))) return out + ", which was there before";
  for (const auto& [value, name] : known)
    if (is_near(came, value)) return out + ", " + name;
  return out;
}

void check_gelu(const Part& part) {
  Case c(1, 8);
  c.x = {-1.0F, -2.5F, 0.25F, 1.5F, 2.0F, -0.75F, -2.25F, 3.0F};
  c.bias = {0.25F, 0.5F, -0.5F, -0.25F, 0.75F, 1.0F, 0.5F, -1.0F};
  Values y(c.x.size(), kUnwritten);
  part.bias_gelu_forward(c.x, c.bias, y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double u = c.u(i), x = static_cast<double>(c.x[i]), b = static_cast<double>(c.bias[i]);
    const double came = static_cast<double>(y[i]);
    expect(is_near(came, gelu(u)),
           {fmt::format("y = {:.5f} for x = {}, b = {}", gelu(u), x, b),
            words(came, {{tanh_gelu(u), "which is GELU's tanh form, another function"},
                         {gelu(x), "which is gelu(x): the bias is missing"},
                         {gelu(x) + b, "which is gelu(x) + b: the bias comes before GELU"},
                         {u, "which is x + b"},
                         {below(u), "which is Phi(x + b): u is missing before it"}}),
            "below() first, and then the formula of gelu in exercise.h"});
  }
}

void check_rows(const Part& part) {
  for (const auto& [rows, columns] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {3, 8}, {3, 7}, {2, 9}, {5, 33}}) {
    const Case c(rows, columns);
    Values y(c.x.size(), kUnwritten);
    part.bias_gelu_forward(c.x, c.bias, y);
    for (std::size_t i = 0; i < y.size(); ++i)
      expect(is_near(static_cast<double>(y[i]), gelu(c.u(i))),
             {fmt::format("y{} to be {:.5f}", c.place(i), gelu(c.u(i))), words(static_cast<double>(y[i]), {}),
              "where a row begins and ends: columns = bias.size() is any number"});
  }
}

void check_tail(const Part& part) {
  const Values x = {-3.0F, -4.0F, -5.0F, -6.0F, -7.0F, -8.0F};
  const Values bias(x.size(), 0.0F);
  Values y(x.size(), kUnwritten);
  part.bias_gelu_forward(x, bias, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = gelu(static_cast<double>(x[i]));
    expect(
        std::abs(static_cast<double>(y[i]) - wanted) <= 1e-4 * std::abs(wanted),
        {fmt::format("gelu({:g}) = {:.4e}", x[i], wanted), fmt::format("{:.4e}", y[i]),
         "1 + erf(z): near z = -4 two numbers that are nearly the same are subtracted, and erfc(-z) is not"});
  }
}

void check_slope(const Part& part) {
  Case c(1, 5);
  c.x = {-1.0F, -0.5F, 0.25F, 1.5F, 2.0F};
  c.bias = {0.25F, -0.5F, 0.5F, -0.25F, 0.75F};
  c.dy = {2.0F, -1.5F, 0.5F, 3.0F, -2.0F};
  const Gradients came = backward(part, c);
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const double dy = static_cast<double>(c.dy[i]), u = c.u(i), x = static_cast<double>(c.x[i]);
    expect(is_near(static_cast<double>(came.dx[i]), c.dx(i)),
           {fmt::format("dx = {:.5f} for x = {}, b = {}, dy = {}", c.dx(i), x, c.bias[i], dy),
            words(static_cast<double>(came.dx[i]),
                  {{dy * below(u), "which is dy Phi(u): gelu' has a second term"},
                   {dy * (below(u) + phi(u)),
                    "which is dy (Phi(u) + phi(u)): the density is missing its factor u"},
                   {slope(u), "which is gelu'(u): dy is missing"},
                   {dy * slope(x), "which is dy gelu'(x): the bias is missing"},
                   {dy * slope(gelu(u)), "which is dy gelu'(y)"},
                   {dy * gelu(u), "which is dy gelu(u)"}}),
            "the formula of gelu' in exercise.h"});
  }
}

void check_bias_gradient(const Part& part) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 3}, {4, 5}, {70, 9}}) {
    const Case c(rows, columns);
    const Gradients came = backward(part, c);
    for (std::size_t i = 0; i < c.x.size(); ++i)
      expect(is_near(static_cast<double>(came.dx[i]), c.dx(i)),
             {fmt::format("dx{} to be {:.5f}", c.place(i), c.dx(i)),
              words(static_cast<double>(came.dx[i]), {}), "where a row begins and ends in backward"});
    for (std::size_t column = 0; column < columns; ++column) {
      const double wanted = c.column_sum(column, [&](std::size_t i) { return c.dx(i); });
      const double size = c.column_sum(column, [&](std::size_t i) { return std::abs(c.dx(i)); });
      const double value = static_cast<double>(came.dbias[column]);
      expect(is_near(value, wanted, size),
             {fmt::format("dbias[{}] = {:.5f}, the sum of dx over {} row{}", column, wanted, rows,
                          rows == 1 ? "" : "s"),
              words(value,
                    {{wanted + static_cast<double>(kUnwritten), "which adds to the 77 that was there before"},
                     {c.dx((rows - 1) * columns + column), "which is dx of the last row alone"},
                     {c.dx(column), "which is dx of the first row alone"},
                     {c.column_sum(column, [&](std::size_t i) { return static_cast<double>(c.dy[i]); }),
                      "which is the sum of dy: the slope is missing"}}),
              "what dbias begins with, and what each row adds to it"});
    }
  }
}

void check_large(const Part& part) {
  constexpr float kGreatest = std::numeric_limits<float>::max();
  Case c(1, 8);
  c.x = {0.0F, 30.0F, -30.0F, 1e20F, -1e20F, kGreatest, -kGreatest, 1e-40F};
  c.bias = Values(c.x.size(), 0.0F);
  c.dy = Values(c.x.size(), 1.0F);
  Values y(c.x.size(), kUnwritten);
  part.bias_gelu_forward(c.x, c.bias, y);
  const Gradients came = backward(part, c);
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const double u = c.u(i);
    expect(is_near(static_cast<double>(y[i]), gelu(u), u),
           {fmt::format("gelu({:g}) = {:g}", u, gelu(u)), fmt::format("{:g}", y[i]),
            "what becomes infinite on the way: an infinity times 0, or over another, is no number"});
    const double wanted = std::abs(u) < 1 ? 0.5 : u > 0 ? 1.0 : 0.0;
    expect(is_near(static_cast<double>(came.dx[i]), wanted),
           {fmt::format("gelu'({:g}) = {:g}", u, wanted), fmt::format("{:g}", came.dx[i]),
            "what is 0 over 0, or infinite on the way, in the slope"});
  }
}

void check_in_place(const Part& part) {
  const Case c(4, 7);
  Values y = c.x;
  part.bias_gelu_forward(y, c.bias, y);
  for (std::size_t i = 0; i < y.size(); ++i)
    expect(is_near(static_cast<double>(y[i]), gelu(c.u(i))),
           {fmt::format("y{} = {:.5f} where y is x", c.place(i), gelu(c.u(i))),
            words(static_cast<double>(y[i]), {}), "whether x is read again after y was written"});
  Values dx = c.dy;
  Values dbias(c.columns, kUnwritten);
  part.bias_gelu_backward(c.x, c.bias, dx, dx, dbias);
  for (std::size_t i = 0; i < dx.size(); ++i)
    expect(is_near(static_cast<double>(dx[i]), c.dx(i)),
           {fmt::format("dx{} = {:.5f} where dx is dy", c.place(i), c.dx(i)),
            words(static_cast<double>(dx[i]), {}), "whether dy is read again after dx was written"});
}

void check_empty(const Part& part) {
  Case c(0, 5);
  Values y;
  part.bias_gelu_forward(c.x, c.bias, y);
  const Gradients came = backward(part, c);
  for (std::size_t column = 0; column < c.columns; ++column)
    expect(came.dbias[column] == 0.0F, {fmt::format("dbias[{}] = 0, the sum of no rows", column),
                                        words(static_cast<double>(came.dbias[column]), {}),
                                        "what is returned from before dbias is written"});
}

void expect_one_pass(const PagedMatrix& matrix, const char* function) {
  const double passes = matrix.passes();
  const std::string count = passes >= PagedMatrix::kMost ? fmt::format("{} times or more", PagedMatrix::kMost)
                                                         : fmt::format("{:.1f} times", passes);
  const bool by_columns = passes >= PagedMatrix::kMost;
  expect(passes < 1.5,
         {fmt::format("each page of {} to come from memory once in {}", matrix.name(), function), count,
          by_columns ? "the order of the loops: neighbours in memory are those of a row"
                     : fmt::format("what makes a second pass over {}", matrix.name())});
}

void check_passes(const Part& part) {
  const PagedMatrix x("x"), y("y"), dy("dy"), dx("dx");
  const Values bias = drawn(PagedMatrix::columns(), 2);
  Values dbias(bias.size(), kUnwritten);
  PagedMatrix::count();
  part.bias_gelu_forward(x.values(), bias, y.values());
  expect_one_pass(x, "forward");
  expect_one_pass(y, "forward");
  const PagedMatrix again("x");  // of its own, so that what is open of the other does not count
  PagedMatrix::count();
  part.bias_gelu_backward(again.values(), bias, dy.values(), dx.values(), dbias);
  for (const PagedMatrix* const matrix : {&again, &dy, &dx}) expect_one_pass(*matrix, "backward");
}

std::atomic<bool> counts_memory{false};
std::atomic<std::size_t> most_memory{0};

void on_memory(const volatile void* /*place*/, std::size_t bytes) {
  if (counts_memory && bytes > most_memory) most_memory = bytes;
}
void on_memory_back(const volatile void* /*place*/) {}

void check_memory(const Part& part) {
  const Case c(64, 100);
  Values y(c.x.size()), dx(c.x.size()), dbias(c.columns);
  __sanitizer_install_malloc_and_free_hooks(on_memory, on_memory_back);
  const auto expect_little = [&](const char* function) {
    counts_memory = false;
    expect(most_memory <= 4 * c.columns * sizeof(float),
           {fmt::format("no memory for more than a row or two ({} bytes a row) in {}",
                        c.columns * sizeof(float), function),
            fmt::format("{} bytes were taken at once", most_memory.load()),
            "what is kept of x + bias: it can be computed again where it is needed"});
  };
  counts_memory = true;
  part.bias_gelu_forward(c.x, c.bias, y);
  expect_little("forward");
  counts_memory = true;
  part.bias_gelu_backward(c.x, c.bias, c.dy, dx, dbias);
  expect_little("backward");
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"gelu", exercise::check_gelu},
                                           {"rows", exercise::check_rows},
                                           {"tail", exercise::check_tail},
                                           {"slope", exercise::check_slope},
                                           {"bias_gradient", exercise::check_bias_gradient},
                                           {"large", exercise::check_large},
                                           {"in_place", exercise::check_in_place},
                                           {"empty", exercise::check_empty},
                                           {"passes", exercise::check_passes},
                                           {"memory", exercise::check_memory}});
}

}  // namespace isobar
