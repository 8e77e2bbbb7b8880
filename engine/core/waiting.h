#pragma once
// Waiting by the one clock of the project (steady_us), which tests set (tests/support/set_clock.h): what
// waits here waits for nothing but what it says, however busy the machine is.
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace isobar {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Microseconds; only differences mean anything.
  virtual std::int64_t now_us() const = 0;
  /// Returns when `condition` is notified or it is `until_us`, and sometimes for no reason; `lock` is held on
  /// both sides of the call and not in between.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                    std::int64_t until_us) = 0;
};

/// The clock that steady_us reads.
Clock& the_clock();
/// Another one for this process, null = the machine's. Not while a thread waits on the one before.
void set_clock(Clock* clock);

/// Waits on `condition` until `done()` or until it is `until_us` (steady_us); what `done()` says then.
template <class Done>
bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, std::int64_t until_us,
                Done done) {
  while (!done()) {
    if (the_clock().now_us() >= until_us) return false;
    the_clock().wait(lock, condition, until_us);
  }
  return true;
}

}  // namespace isobar
