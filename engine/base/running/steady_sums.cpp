#include "running/steady_sums.h"

namespace isobar {

void SteadySums::add(std::int64_t samples, const StageTimes& times, std::initializer_list<Figure> figures) {
  if (steps_++ == 0)
    figures_.assign(figures.begin(), figures.end());
  else
    for (std::size_t i = 0; i < figures_.size(); ++i) figures_[i].second += figures.begin()[i].second;
  samples_ += samples;
  times_.step_us += times.step_us;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    times_.stage_us[stage] += times.stage_us[stage];
    times_.entered[stage] = times_.entered[stage] || times.entered[stage];
  }
}

void SteadySums::put_into(RunSummary& out) const {
  if (steps_ == 0) return;
  const auto steps = static_cast<double>(steps_);
  const auto mean = [&](std::int64_t sum) { return static_cast<double>(sum) / steps; };
  out.step_us = mean(times_.step_us);
  out.samples_per_s = static_cast<double>(samples_) / (out.step_us * steps) * 1e6;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (times_.entered[stage]) out.stages_us.emplace_back(kStageNames[stage], mean(times_.stage_us[stage]));
  }
  for (const auto& [field, sum] : figures_) out.*field = mean(sum);
}

}  // namespace isobar
