#pragma once
// A clock for several threads that goes on only when all of them wait, and then to the next time that one of
// them waits for: what they sleep is exact, whatever the machine does meanwhile, and costs nothing.
//   EventClock clock(3);  // this thread and two that it starts
// All that these threads wait for must be waited for by wait_until or sleep_us (core/waiting.h); a thread
// that ends, or joins others that sleep, says one_less.
#include <atomic>
#include <cstdint>
#include <thread>

#include "support/moved_clock.h"

namespace isobar {

class EventClock final : public MovedClock {
 public:
  explicit EventClock(int threads)
      : threads_(threads), driver_([this](const std::stop_token& stop) { drive(stop); }) {}

  /// How many threads must wait before time goes on.
  void expect(int threads) { threads_ = threads; }
  /// The calling thread will wait no more.
  void one_less() { --threads_; }

  /// Returns when all of them wait for each other, or for what the calling thread, which is none of them,
  /// does.
  void until_still() {
    const std::int64_t asked = ++asked_;
    while (answered_ < asked) std::this_thread::yield();
  }

  void left() override { ++left_; }

 private:
  /// Time goes on when all wait, were all woken to look once more, and none found what it waits for.
  void drive(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!all_wait()) {
        std::this_thread::yield();
        continue;
      }
      const std::int64_t asked = asked_;
      const std::int64_t left = left_;
      const std::int64_t last = last_number();
      while (!stop.stop_requested() && wake([&](const Waiter& waiter) { return waiter.number <= last; }))
        std::this_thread::yield();
      while (!stop.stop_requested() && !all_wait()) {
        if (left_ != left) break;
        std::this_thread::yield();
      }
      if (left_ == left && all_wait() && !go_on()) answered_ = asked;
    }
  }

  bool all_wait() { return static_cast<int>(count()) >= threads_; }
  /// False when they wait for no time.
  bool go_on() {
    if (!move_to_next()) return false;
    while (wake_due()) std::this_thread::yield();
    return true;
  }

  std::atomic<int> threads_;
  std::atomic<std::int64_t> left_ = 0, asked_ = 0, answered_ = 0;
  std::jthread driver_;  // last: it ends before what it uses
};

}  // namespace isobar
