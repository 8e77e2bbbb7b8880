#include "core/waiting.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <type_traits>

#include "core/clock.h"

namespace isobar {
namespace {

class MachineClock final : public Clock {
 public:
  std::int64_t now_us() const override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
            std::int64_t until_us) override {
    constexpr std::int64_t kLongest_us = 3'600'000'000;  // what waits without end asks again
    const std::int64_t left_us = std::min(until_us - now_us(), kLongest_us);
    if (left_us > 0) condition.wait_for(lock, std::chrono::microseconds(left_us));
  }
};

// Signal handlers read it (running/signals.cpp): a static of a function, or one with a destructor, would
// allocate memory at its first use, perhaps in the midst of malloc.
constinit MachineClock machine_clock;
static_assert(std::is_trivially_destructible_v<MachineClock>);

std::atomic<Clock*> set_one = nullptr;

}  // namespace

Clock& the_clock() {
  Clock* const clock = set_one.load(std::memory_order_acquire);
  return clock != nullptr ? *clock : machine_clock;
}

void set_clock(Clock* clock) { set_one.store(clock, std::memory_order_release); }

std::int64_t steady_us() { return the_clock().now_us(); }

void sleep_us(std::int64_t time_us) { sleep_until_us(steady_us() + time_us); }

void sleep_until_us(std::int64_t due_us, const std::stop_token& stop) {
  if (due_us <= steady_us()) return;
  std::mutex mutex;
  std::condition_variable stopped;
  const std::stop_callback wake(stop, [&] {
    { const std::lock_guard guard(mutex); }  // a thread that is about to wait does so first
    stopped.notify_all();
  });
  std::unique_lock lock(mutex);
  wait_until(lock, stopped, due_us, [&] { return stop.stop_requested(); });
}

void pause_us(std::int64_t time_us) {
  const timespec pause{.tv_sec = 0, .tv_nsec = time_us * 1000};
  nanosleep(&pause, nullptr);
}

}  // namespace isobar
