#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace isobar {

double peak_learning_rate(const Config& config) {
  const ScheduleConfig& schedule = config.schedule;
  if (schedule.lr_rule == LrRule::none) return config.optim.lr;
  const double growth =
      static_cast<double>(config.train.global_batch) / static_cast<double>(schedule.base_batch);
  return config.optim.lr * (schedule.lr_rule == LrRule::sqrt ? std::sqrt(growth) : growth);
}

std::string peak_text(const Config& config, double peak) {
  if (config.schedule.lr_rule == LrRule::none) return "";
  return fmt::format("optim.lr {:g} x {:g} = {:g}: {} in {} samples a step over {}", config.optim.lr,
                     peak / config.optim.lr, peak, name_of(config.schedule.lr_rule),
                     config.train.global_batch, config.schedule.base_batch);
}

double learning_rate(const ScheduleConfig& config, double peak, std::int64_t t, std::int64_t steps) {
  const double progress = static_cast<double>(t) / static_cast<double>(steps);
  double factor =
      config.kind == ScheduleKind::constant ? 1.0 : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  if (config.warmup_steps > 0) {
    factor = std::min(factor, static_cast<double>(t + 1) / static_cast<double>(config.warmup_steps));
  }
  return peak * factor;
}

}  // namespace isobar
