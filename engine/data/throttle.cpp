#include "data/throttle.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "core/clock.h"

namespace isobar {
namespace {

/// A sleeper wakes some microseconds late; so much of it is made up for by the next read.
constexpr double kLate_us = 2000;

void sleep_until_us(double due_us, const std::stop_token& stop) {
  const auto left = std::chrono::microseconds(static_cast<std::int64_t>(due_us) - steady_us());
  if (left.count() <= 0) return;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, left, [] { return false; });
}

}  // namespace

void Throttle::take(std::int64_t bytes, std::int64_t asked_us, const std::stop_token& stop) {
  if (mb_per_s_ <= 0) return;
  double due_us = 0;
  {
    const std::scoped_lock lock(mutex_);
    free_at_us_ = std::max(free_at_us_, static_cast<double>(asked_us) - kLate_us) +
                  static_cast<double>(bytes) / static_cast<double>(mb_per_s_);
    due_us = free_at_us_;
  }
  sleep_until_us(due_us, stop);
}

}  // namespace isobar
