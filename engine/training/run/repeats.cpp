#include "run/repeats.h"

#include <algorithm>

#include "core/clock.h"
#include "run/signals.h"

namespace isobar {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void stop_if_asked() {
  if (StopSignals::requested() != 0) throw MeasuringStopped{StopSignals::requested()};
}

std::vector<double> median_times_us(const std::vector<WorkStage>& stages, const Repeats& repeats) {
  for (const WorkStage& stage : stages) stage();
  std::vector<std::vector<double>> times_us(stages.size());
  const std::int64_t begin_us = steady_us();
  const auto goes_on = [&](int done) {
    return done < repeats.least || (done < repeats.most && steady_us() - begin_us < repeats.budget_us);
  };
  for (int done = 0; goes_on(done); ++done) {
    stop_if_asked();
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::int64_t start_us = steady_us();
      stages[i]();
      times_us[i].push_back(static_cast<double>(steady_us() - start_us));
    }
  }
  std::vector<double> out;
  for (const std::vector<double>& times : times_us) out.push_back(std::max(1.0, median(times)));
  return out;
}

double median_time_us(const WorkStage& work, const Repeats& repeats) {
  return median_times_us({work}, repeats).front();
}

double rate_per_s(double amount, double time_us) { return amount / time_us * 1e6; }

}  // namespace isobar
