#include "data/throttle.h"

#include "core/waiting.h"

namespace isobar {
namespace {

/// A sleeper wakes some microseconds late: a read that is asked for so soon after the last one follows it
/// directly. Any later, and the file system was idle, which is not made up for.
constexpr double kLate_us = 2000;

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
  sleep_until_us(static_cast<std::int64_t>(due_us), stop);
}

}  // namespace isobar
