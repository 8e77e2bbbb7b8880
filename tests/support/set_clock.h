#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "support/moved_clock.h"

namespace isobar {

/// It goes on where the test says so, by so much.
class SetClock final : public MovedClock {
 public:
  explicit SetClock(std::atomic<std::int64_t>* place = nullptr) : MovedClock(place) {}

  /// Returns when every thread whose time has come has woken.
  void advance_us(std::int64_t time_us) {
    go_on(time_us);
    wake_who_is_due();
  }

  /// The same for threads whose time came by another process's hand.
  void wake_who_is_due() {
    while (wake_due()) std::this_thread::yield();
  }

  /// Returns when so many threads wait on this clock.
  void until_waiting(std::size_t threads) {
    while (!has_waiting(threads)) std::this_thread::yield();
  }
  bool has_waiting(std::size_t threads) { return count() >= threads; }

  bool waits() { return count() > 0; }
  void until_none_waits() {
    while (waits()) std::this_thread::yield();
  }
};

}  // namespace isobar
