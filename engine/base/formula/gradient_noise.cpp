#include "formula/gradient_noise.h"

#include <cmath>
#include <vector>

namespace isobar {
namespace {

struct Sums {
  double gradient_square = 0;
  double variance = 0;
};

Sums of_step(const GradientSquares& step, double b, double B) {
  return {(B * step.mean - b * step.local) / (B - b), (step.local - step.mean) / (1 / b - 1 / B)};
}

/// Standard error of a figure of sums over `parts`. `figure` of all sums but one step's must be finite.
template <class Figure>
std::optional<double> jackknife(const std::vector<Sums>& parts, const Sums& all, const Figure& figure) {
  const auto n = static_cast<double>(parts.size());
  if (parts.size() < 2) return {};
  std::vector<double> without;
  double mean = 0;
  for (const Sums& part : parts) {
    const Sums rest{all.gradient_square - part.gradient_square, all.variance - part.variance};
    without.push_back(figure(rest, n - 1));
    mean += without.back() / n;
  }
  double squares = 0;
  for (const double one : without) squares += (one - mean) * (one - mean);
  const double out = std::sqrt((n - 1) / n * squares);
  return std::isfinite(out) ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<GradientNoise> estimate_noise(std::span<const GradientSquares> steps, double local_batch,
                                            int ranks) {
  if (ranks < 2 || !(local_batch > 0)) return {};
  std::vector<Sums> parts;
  Sums all;
  for (const GradientSquares& step : steps) {
    if (!step.is_known() || !std::isfinite(step.local + step.mean)) continue;
    parts.push_back(of_step(step, local_batch, local_batch * ranks));
    all.gradient_square += parts.back().gradient_square;
    all.variance += parts.back().variance;
  }
  if (parts.empty() || !(all.gradient_square > 0)) return {};
  const auto with_spread = [&](const auto& figure) {
    return NoiseFigure{figure(all, static_cast<double>(parts.size())), jackknife(parts, all, figure)};
  };
  return GradientNoise{
      .gradient_square = with_spread([](const Sums& sums, double n) { return sums.gradient_square / n; }),
      .variance = with_spread([](const Sums& sums, double n) { return sums.variance / n; }),
      .scale = with_spread([](const Sums& sums, double /*n*/) {
        return sums.gradient_square > 0 ? sums.variance / sums.gradient_square : NAN;
      }),
      .steps = static_cast<std::int64_t>(parts.size())};
}

}  // namespace isobar
