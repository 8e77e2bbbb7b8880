#include "analyse/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace isobar {

Spread::Spread(const std::vector<double>& measured) {
  std::ranges::copy_if(measured, std::back_inserter(values),
                       [](double value) { return std::isfinite(value); });
  std::ranges::sort(values);
}

double Spread::quantile(double share) const {
  if (empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

namespace {

/// The 97.5 % quantile of Student's t: tabled, and between that linear in 1 / freedom, which is never too
/// small. At least 1 degree.
double t_quantile(double freedom) {
  struct Known {
    double freedom, t;
  };
  constexpr Known kKnown[] = {{1, 12.7062}, {2, 4.3027},  {3, 3.1824},  {4, 2.7764},
                              {5, 2.5706},  {6, 2.4469},  {7, 2.3646},  {8, 2.3060},
                              {9, 2.2622},  {10, 2.2281}, {12, 2.1788}, {15, 2.1314},
                              {20, 2.0860}, {30, 2.0423}, {60, 2.0003}, {1e9, 1.9600}};
  const auto* const above = std::find_if(std::begin(kKnown), std::end(kKnown) - 1,
                                         [&](const Known& known) { return known.freedom >= freedom; });
  if (above == std::begin(kKnown)) return above->t;
  const Known& below = *(above - 1);
  const double share = (1 / freedom - 1 / above->freedom) / (1 / below.freedom - 1 / above->freedom);
  return above->t + std::clamp(share, 0.0, 1.0) * (below.t - above->t);
}

double squared_error(const LogMean& of) { return of.repeats > 0 ? of.variance / of.repeats : 0; }

/// Repeats of each that find a difference of `log_ratio` four times of five.
std::size_t repeats_for(double log_ratio, const LogMean& one, const LogMean& other) {
  constexpr double kFourOfFive = 0.8416;  // quantile of the normal distribution
  std::size_t repeats = kLeastRepeats;
  for (; repeats < kMostRepeatsNeeded; ++repeats) {
    const auto count = static_cast<double>(repeats);
    const double error = std::sqrt((one.variance + other.variance) / count);
    if ((t_quantile(2 * count - 2) + kFourOfFive) * error <= std::fabs(log_ratio)) break;
  }
  return repeats;
}

std::string interval_text(const Compared& compared) {
  return fmt::format("{:.2f} to {:.2f}", compared.low, compared.high);
}

/// Values above zero, fewer than `kLeastRepeats` of one of them.
Compared compare_few(const Spread& one, const Spread& other, double far_apart) {
  Compared out;
  const double nearest = std::max(one.least() / other.most(), other.least() / one.most());
  if (!(far_apart > 1) || nearest <= far_apart) {
    out.repeats_needed = kLeastRepeats;
    return out;
  }
  out.is_of_few = true;
  out.ratio = out.low = out.high = std::exp(LogMean(one).mean - LogMean(other).mean);
  out.direction = out.ratio < 1 ? Direction::less : Direction::more;
  return out;
}

std::string few_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, ratio >= 10 ? 0 : ratio >= 1 ? 1 : 2);
}

}  // namespace

LogMean::LogMean(const Spread& of) : repeats(static_cast<double>(of.values.size())) {
  for (const double value : of.values) mean += std::log(value) / repeats;
  for (const double value : of.values)
    variance += (std::log(value) - mean) * (std::log(value) - mean) / (repeats - 1);
}

LogMean::LogMean(double value, double least, double most, double repeats_of_it)
    : mean(std::log(value)), repeats(repeats_of_it) {
  const double half = std::log(most / least) / 2 / t_quantile(repeats - 1);
  variance = half * half * repeats;
}

Compared compare(const LogMean& one, const LogMean& other) {
  const double log_ratio = one.mean - other.mean;
  double error = 0, over_freedom = 0;
  for (const LogMean* const of : {&one, &other}) {
    const double own = squared_error(*of);
    error += own;
    if (own > 0) over_freedom += own * own / (of->repeats - 1);
  }
  const double half = error > 0 ? t_quantile(error * error / over_freedom) * std::sqrt(error) : 0;
  Compared out{std::exp(log_ratio), std::exp(log_ratio - half), std::exp(log_ratio + half)};
  if (std::fabs(log_ratio) <= std::log1p(kSmallestThatMatters)) {
    out.direction = Direction::same;
  } else if (std::fabs(log_ratio) <= half) {
    out.direction = Direction::same;
    out.repeats_needed = repeats_for(log_ratio, one, other);
  } else {
    out.direction = log_ratio < 0 ? Direction::less : Direction::more;
  }
  return out;
}

std::optional<Compared> compare(const Spread& one, const Spread& other, double far_apart) {
  if (one.empty() || other.empty() || !(one.least() > 0) || !(other.least() > 0)) return std::nullopt;
  if (std::min(one.values.size(), other.values.size()) < kLeastRepeats)
    return compare_few(one, other, far_apart);
  return compare(LogMean(one), LogMean(other));
}

std::string ratio_text(const Compared& compared) {
  if (compared.direction == Direction::unknown) return "cannot tell";
  if (compared.is_of_few) return "about x" + few_text(compared.ratio);
  return compared.is_same() ? "same" : fmt::format("x{:.2f} ±{:.2f}", compared.ratio, compared.half());
}

std::string ratio_sentence(const Compared& compared) {
  const std::string repeats = fmt::format("{}{} repeats of each", compared.repeats_needed,
                                          compared.repeats_needed == kMostRepeatsNeeded ? " or more" : "");
  if (compared.direction == Direction::unknown) return "cannot tell: " + repeats + " are needed";
  if (compared.is_of_few)
    return fmt::format("about {} times (from fewer than {} repeats)", few_text(compared.ratio),
                       kLeastRepeats);
  if (compared.is_told())
    return fmt::format("{:.{}f} times ({})", compared.ratio, compared.ratio < 10 ? 2 : 0,
                       interval_text(compared));
  return "the same (" + interval_text(compared) + ")" +
         (compared.repeats_needed == 0 ? ""
                                       : "; " + repeats + " would confirm a difference as large as seen");
}

}  // namespace isobar
