#include "run/repeats.h"

#include <algorithm>

#include "core/clock.h"
#include "record/run_summary.h"
#include "running/signals.h"

namespace isobar {
namespace {

/// The value below which this share of them lies.
double quantile(std::vector<double> values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

void stop_if_asked() {
  if (StopSignals::requested() != 0) throw MeasuringStopped{StopSignals::requested()};
}

std::vector<double> median_times_us(const std::vector<WorkStage>& stages, const Repeats& repeats) {
  for (const WorkStage& stage : stages) stage();
  std::vector<std::vector<double>> times_us(stages.size());
  const ProcessorTime begin = thread_processor_time();
  const auto goes_on = [&](int done) {
    return done < repeats.least || (done < repeats.most && steady_us() - begin.at_us < repeats.budget_us);
  };
  for (int done = 0; goes_on(done); ++done) {
    stop_if_asked();
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::int64_t start_us = steady_us();
      stages[i]();
      times_us[i].push_back(static_cast<double>(steady_us() - start_us));
    }
  }
  const double share = thread_processor_time().waited_since(begin) > kCrowdedWait ? 0.1 : 0.5;
  std::vector<double> out;
  for (const std::vector<double>& times : times_us) out.push_back(std::max(1.0, quantile(times, share)));
  return out;
}

double median_time_us(const WorkStage& work, const Repeats& repeats) {
  return median_times_us({work}, repeats).front();
}

double rate_per_s(double amount, double time_us) { return amount / time_us * 1e6; }

}  // namespace isobar
