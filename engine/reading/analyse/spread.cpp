#include "analyse/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace isobar {

Spread::Spread(const std::vector<double>& measured) {
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(values),
               [](double value) { return std::isfinite(value); });
  std::sort(values.begin(), values.end());
}

double Spread::quantile(double share) const {
  if (empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

namespace {

Spread logarithms(const Spread& of) {
  Spread out;
  for (const double value : of.values) out.values.push_back(std::log(value));
  return out;
}

}  // namespace

bool is_same(const Spread& one, const Spread& other) {
  constexpr double kOneRunEach = 0.02;
  const bool repeated = one.values.size() > 1 || other.values.size() > 1;
  if (!repeated) {
    const double larger = std::max(std::fabs(one.median()), std::fabs(other.median()));
    return std::fabs(one.median() - other.median()) <= kOneRunEach * larger;
  }
  if (one.least() > other.most() || other.least() > one.most()) return false;
  if (one.least() > 0 && other.least() > 0) {
    const Spread first = logarithms(one), second = logarithms(other);
    return std::fabs(first.median() - second.median()) <= std::max(first.range(), second.range());
  }
  return std::fabs(one.median() - other.median()) <= std::max(one.range(), other.range());
}

std::optional<Compared> compare(const Spread& one, const Spread& other) {
  if (one.empty() || !(other.median() > 0)) return std::nullopt;
  return Compared{one.median() / other.median(), is_same(one, other)};
}

}  // namespace isobar
