#include "data/stoppable_sleep.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/clock.h"

namespace isobar {

void sleep_until_us(std::int64_t due_us, const std::stop_token& stop) {
  const auto left = std::chrono::microseconds(due_us - steady_us());
  if (left.count() <= 0) return;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, left, [] { return false; });
}

}  // namespace isobar
