#include "samples/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/random.h"

namespace isobar {
namespace {

/// Number `counter` of a stream of normal values (Box and Muller 1958).
double normal_at(std::uint64_t key, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform_at(key, 2 * counter)));
  return radius * std::cos(2 * std::numbers::pi * uniform_at(key, 2 * counter + 1));
}

}  // namespace

LinePoints draw_points(const DataConfig& config) {
  const auto seed = static_cast<std::uint64_t>(config.seed);
  const std::uint64_t x_key = stream_key(seed, "line.x");
  const std::uint64_t noise_key = stream_key(seed, "line.noise");
  LinePoints out;
  const auto count = static_cast<std::size_t>(config.samples);
  out.x.reserve(count);
  out.y.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = uniform_at(x_key, i);
    out.x.push_back(x);
    out.y.push_back(config.slope * x + config.intercept + config.noise * normal_at(noise_key, i));
  }
  return out;
}

Line first_line(const ModelConfig& config, std::int64_t seed, int rank) {
  Line out{config.slope, config.intercept};
  if (rank == 0) return out;
  const std::uint64_t key = stream_key(static_cast<std::uint64_t>(seed), "line.start");
  const auto own = static_cast<std::uint64_t>(rank);
  out.slope += 2 * uniform_at(key, 2 * own) - 1;
  out.intercept += 2 * uniform_at(key, 2 * own + 1) - 1;
  return out;
}

std::vector<std::string> points_text(const Config& config) {
  const DataConfig& data = config.data;
  return {fmt::format("  data    {} points around y = {:g} x + {:g}, noise {:g}", data.samples, data.slope,
                      data.intercept, data.noise),
          fmt::format("  model   y = slope x + intercept, begins at slope {:g}, intercept {:g}",
                      config.model.slope, config.model.intercept),
          fmt::format("  train   {} steps of {} points, learning rate {:g}", config.train.steps,
                      config.train.global_batch, config.optim.lr)};
}

std::vector<std::pair<const char*, double>> step_figures(const Line& line, const Line& own,
                                                         const Line& taken) {
  return {{"slope", line.slope},
          {"intercept", line.intercept},
          {"own_slope_gradient", own.slope},
          {"own_intercept_gradient", own.intercept},
          {"slope_gradient", taken.slope},
          {"intercept_gradient", taken.intercept}};
}

double line_loss(const LinePoints& points, const Line& line, std::span<const std::int64_t> batch) {
  double sum = 0;
  for (const std::int64_t sample : batch) sum += square(points.residual(line, sample));
  return sum / static_cast<double>(batch.size());
}

Line line_gradient(const LinePoints& points, const Line& line, std::span<const std::int64_t> batch) {
  Line sum;
  for (const std::int64_t sample : batch) {
    const double residual = points.residual(line, sample);
    sum.slope += residual * points.x_of(sample);
    sum.intercept += residual;
  }
  const double twice_mean = 2 / static_cast<double>(batch.size());
  return {twice_mean * sum.slope, twice_mean * sum.intercept};
}

LossBowl::LossBowl(const LinePoints& points) {
  const double count = static_cast<double>(points.size());
  double mean_y = 0;
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    mean_x_ += points.x[i] / count;
    mean_xx_ += points.x[i] * points.x[i] / count;
    mean_y += points.y[i] / count;
  }
  double spread_x = 0, spread_xy = 0;  // around the means, which loses no digits
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    spread_x += (points.x[i] - mean_x_) * (points.x[i] - mean_x_);
    spread_xy += (points.x[i] - mean_x_) * (points.y[i] - mean_y);
  }
  bottom_.slope = spread_x > 0 ? spread_xy / spread_x : 0;
  bottom_.intercept = mean_y - bottom_.slope * mean_x_;
  for (std::int64_t i = 0; i < points.size(); ++i) least_ += square(points.residual(bottom_, i)) / count;
  const double middle = mean_xx_ + 1;
  const double apart = std::hypot(mean_xx_ - 1, 2 * mean_x_);
  large_ = middle + apart;
  small_ = std::max(0.0, middle - apart);
}

std::vector<Line> LossBowl::contour(double height, int parts) const {
  // Along the axes of the Hessian the loss is least + curvature / 2 d^2.
  constexpr double kFlat = 1e-9;
  const double angle = 0.5 * std::atan2(2 * mean_x_, mean_xx_ - 1);  // angle of the steep axis
  const double steep = std::sqrt(2 * height / large_);
  const double shallow = std::sqrt(2 * height / std::max(small_, kFlat));
  std::vector<Line> out;
  for (int i = 0; i < parts; ++i) {
    const double turn = 2 * std::numbers::pi * i / parts;
    const double along = steep * std::cos(turn), across = shallow * std::sin(turn);
    out.push_back({bottom_.slope + along * std::cos(angle) - across * std::sin(angle),
                   bottom_.intercept + along * std::sin(angle) + across * std::cos(angle)});
  }
  return out;
}

double LossBowl::loss(const Line& line) const {
  const double slope = line.slope - bottom_.slope, intercept = line.intercept - bottom_.intercept;
  return least_ + mean_xx_ * slope * slope + 2 * mean_x_ * slope * intercept + intercept * intercept;
}

}  // namespace isobar
