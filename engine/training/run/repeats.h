#pragma once
// Work that is timed again and again, until its median is steady.
#include <cstdint>
#include <functional>
#include <vector>

namespace isobar {

struct Repeats {
  int least = 3;
  int most = 31;
  std::int64_t budget_us = 200'000;  ///< after so long no further one begins, once there are `least`
};

/// SIGINT, SIGTERM or another request to stop (running/signals.h) came between two repeats.
struct MeasuringStopped {
  int signal = 0;
};

/// Throws MeasuringStopped where one came.
void stop_if_asked();

using WorkStage = std::function<void()>;

/// The median time of each stage, microseconds, at least 1. A repeat is all of them in order; the first is a
/// warm-up, which does not count. Where other programs had the processors (kCrowdedWait) the median would
/// measure them, a pause of one thread holding up all: there it is the time that one repeat in ten is below.
std::vector<double> median_times_us(const std::vector<WorkStage>& stages, const Repeats& repeats);
double median_time_us(const WorkStage& work, const Repeats& repeats);

/// `amount` of work a second.
double rate_per_s(double amount, double time_us);

}  // namespace isobar
