#pragma once
// The clock of the process in the hands of a test: it stands still until the test moves it.
#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "core/waiting.h"

namespace isobar {

class SetClock final : public Clock {
 public:
  SetClock() { set_clock(this); }
  ~SetClock() override { set_clock(nullptr); }
  SetClock(const SetClock&) = delete;
  SetClock& operator=(const SetClock&) = delete;

  std::int64_t now_us() const override { return now_us_; }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
            std::int64_t until_us) override {
    std::list<Waiter>::iterator mine;
    {
      const std::lock_guard guard(mutex_);
      if (until_us <= now_us_) return;  // the clock went on since it was looked at
      mine = waiting_.insert(waiting_.end(), {&condition, until_us});
    }
    condition.wait(lock);
    const std::lock_guard guard(mutex_);
    waiting_.erase(mine);
  }

  /// Returns when every thread whose time has come has woken.
  void advance_us(std::int64_t time_us) {
    {
      const std::lock_guard guard(mutex_);
      now_us_ += time_us;
    }
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

 private:
  struct Waiter {
    std::condition_variable* condition;
    std::int64_t until_us;
  };

  std::size_t count() {
    const std::lock_guard guard(mutex_);
    return waiting_.size();
  }
  /// A waiter that has not gone to sleep yet hears the next call.
  bool wake_due() {
    const std::lock_guard guard(mutex_);
    bool any = false;
    for (const Waiter& waiter : waiting_) {
      if (waiter.until_us > now_us_) continue;
      waiter.condition->notify_all();
      any = true;
    }
    return any;
  }

  std::atomic<std::int64_t> now_us_ = 1'000'000'000;
  std::mutex mutex_;
  std::list<Waiter> waiting_;
};

}  // namespace isobar
