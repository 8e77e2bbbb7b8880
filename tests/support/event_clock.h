#pragma once
// A clock for several threads that goes on only when all of them wait, and then to the next time that one of
// them waits for: what they sleep is exact, whatever the machine does meanwhile, and costs nothing.
//   EventClock clock(3);  // this thread and two that it starts
// All that these threads wait for must be waited for by wait_until or sleep_us (core/waiting.h); a thread
// that ends, or joins others that sleep, says one_less.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>

#include "core/waiting.h"

namespace isobar {

class EventClock final : public Clock {
 public:
  explicit EventClock(int threads)
      : threads_(threads), driver_([this](const std::stop_token& stop) { drive(stop); }) {
    set_clock(this);
  }
  ~EventClock() override {
    driver_.request_stop();
    driver_.join();
    set_clock(nullptr);
  }
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  /// How many threads must wait before time goes on.
  void expect(int threads) { threads_ = threads; }
  /// The calling thread will wait no more.
  void one_less() { --threads_; }
  std::int64_t now_us() const override { return now_us_; }

  /// Returns when all of them wait for each other, or for what the calling thread, which is none of them,
  /// does.
  void until_still() {
    const std::int64_t asked = ++asked_;
    while (answered_ < asked) std::this_thread::yield();
  }

  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
            std::int64_t until_us) override {
    std::list<Waiter>::iterator mine;
    {
      const std::lock_guard guard(mutex_);
      if (until_us <= now_us_) return;
      mine = waiting_.insert(waiting_.end(), {&condition, until_us, ++waits_});
    }
    condition.wait(lock);
    const std::lock_guard guard(mutex_);
    waiting_.erase(mine);
  }
  void left() override { ++left_; }

 private:
  struct Waiter {
    std::condition_variable* condition;
    std::int64_t until_us;
    std::int64_t number;
  };

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

  bool all_wait() {
    const std::lock_guard guard(mutex_);
    return static_cast<int>(waiting_.size()) >= threads_;
  }
  std::int64_t last_number() {
    const std::lock_guard guard(mutex_);
    return waits_;
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
  /// False when they wait for no time.
  bool go_on() {
    std::int64_t next_us = INT64_MAX;
    {
      const std::lock_guard guard(mutex_);
      for (const Waiter& waiter : waiting_) next_us = std::min(next_us, waiter.until_us);
      if (next_us == INT64_MAX) return false;
      now_us_ = next_us;
    }
    while (wake([&](const Waiter& waiter) { return waiter.until_us <= next_us; })) std::this_thread::yield();
    return true;
  }

  std::atomic<std::int64_t> now_us_ = 1'000'000'000;
  std::atomic<int> threads_;
  std::atomic<std::int64_t> left_ = 0, asked_ = 0, answered_ = 0;
  std::mutex mutex_;
  std::list<Waiter> waiting_;
  std::int64_t waits_ = 0;
  std::jthread driver_;
};

}  // namespace isobar
