#pragma once
// The clock of the process in the hands of a test: it stands still but where the test moves it.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

#include "core/waiting.h"

namespace isobar {

class MovedClock : public Clock {
 public:
  MovedClock(const MovedClock&) = delete;
  MovedClock& operator=(const MovedClock&) = delete;

  std::int64_t now_us() const override { return now_us_; }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
            std::int64_t until_us) override {
    std::list<Waiter>::iterator mine;
    {
      const std::lock_guard guard(mutex_);
      if (until_us <= now_us_) return;  // the clock went on since it was looked at
      mine = waiting_.insert(waiting_.end(), {&condition, until_us, ++waits_});
    }
    condition.wait(lock);
    const std::lock_guard guard(mutex_);
    waiting_.erase(mine);
  }

 protected:
  struct Waiter {
    std::condition_variable* condition;
    std::int64_t until_us;
    std::int64_t number;  ///< of all that ever waited
  };

  /// `place` holds the time, and may lie in memory that several processes share; null: this clock's own.
  explicit MovedClock(std::atomic<std::int64_t>* place = nullptr)
      : now_us_(place != nullptr ? *place : own_us_) {
    set_clock(this);
  }
  ~MovedClock() { set_clock(nullptr); }

  std::size_t count() {
    const std::lock_guard guard(mutex_);
    return waiting_.size();
  }
  std::int64_t last_number() {
    const std::lock_guard guard(mutex_);
    return waits_;
  }
  /// To when the first of them wants to go on; false when none waits for a time.
  bool move_to_next() {
    const std::lock_guard guard(mutex_);
    std::int64_t next_us = INT64_MAX;
    for (const Waiter& waiter : waiting_) next_us = std::min(next_us, waiter.until_us);
    if (next_us == INT64_MAX) return false;
    now_us_ = next_us;
    return true;
  }
  void go_on(std::int64_t time_us) {
    const std::lock_guard guard(mutex_);
    now_us_ += time_us;
  }
  /// Whether there was somebody to wake: one that has not gone to sleep yet hears the next call.
  template <class Which>
  bool wake(Which which) {
    const std::lock_guard guard(mutex_);
    bool any = false;
    for (const Waiter& waiter : waiting_) {
      if (!which(waiter)) continue;
      waiter.condition->notify_all();
      any = true;
    }
    return any;
  }
  bool wake_due() {
    return wake([this](const Waiter& waiter) { return waiter.until_us <= now_us_; });
  }

 private:
  std::atomic<std::int64_t> own_us_ = 1'000'000'000;
  std::atomic<std::int64_t>& now_us_;
  std::mutex mutex_;
  std::list<Waiter> waiting_;
  std::int64_t waits_ = 0;
};

}  // namespace isobar
