#include "data/throttle.h"

#include <chrono>
#include <condition_variable>

#include "core/clock.h"

namespace isobar {
namespace {

/// A sleeper wakes some microseconds late: a read that is asked for so soon after the last one follows it
/// directly. Any later, and the file system was idle, which is not made up for.
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
    const auto asked = static_cast<double>(asked_us);
    if (asked > free_at_us_ + kLate_us) free_at_us_ = asked;
    free_at_us_ += static_cast<double>(bytes) / static_cast<double>(mb_per_s_);
    due_us = free_at_us_;
  }
  sleep_until_us(due_us, stop);
}

}  // namespace isobar
