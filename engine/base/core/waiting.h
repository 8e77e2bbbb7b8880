#pragma once
// Waiting by the one clock of the project (steady_us), which tests set (tests/support/set_clock.h): a
// wait here ends by its condition or its limit alone, however busy the machine is.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace isobar {

class Clock {
 public:
  /// Microseconds; only differences mean anything.
  virtual std::int64_t now_us() const = 0;
  /// Returns when `condition` is notified or it is `until_us`, and sometimes for no reason; `lock` is held on
  /// both sides of the call and not in between.
  virtual void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                    std::int64_t until_us) = 0;
  /// A wait has ended, and its thread continues.
  virtual void left() {}

 protected:
  ~Clock() = default;
};

/// The clock that steady_us reads.
Clock& the_clock();
/// Another one for this process, null = the machine's. Not while a thread waits on the one before.
void set_clock(Clock* clock);

/// Waits on `condition` until `done()` or until it is `until_us` (steady_us); the result is that of `done()`
/// then.
template <class Done>
bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, std::int64_t until_us,
                Done done) {
  if (done()) return true;
  Clock& clock = the_clock();
  bool is_done = false;
  while (!is_done && clock.now_us() < until_us) {
    clock.wait(lock, condition, until_us);
    is_done = done();
  }
  clock.left();
  return is_done;
}

/// A limit of no wait: it ends by its condition alone.
inline constexpr std::int64_t kNever_us = INT64_MAX;

void sleep_us(std::int64_t time_us);
/// Until it is `due_us` (steady_us), or `stop` is requested.
void sleep_until_us(std::int64_t due_us, const std::stop_token& stop = {});
/// By the machine's clock, less than a second: between two looks at what other processes or devices do, which
/// no clock of this one makes faster.
void pause_us(std::int64_t time_us);

}  // namespace isobar
