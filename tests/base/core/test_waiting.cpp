#include <thread>

#include "core/clock.h"
#include "core/waiting.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

/// A thread that waits for a word or a time; what came of it.
class Waiting {
 public:
  explicit Waiting(std::int64_t until_us)
      : thread_([this, until_us] {
          std::unique_lock lock(mutex_);
          heard_ = wait_until(lock, condition_, until_us, [this] { return said_; });
        }) {}
  void say() {
    {
      const std::lock_guard lock(mutex_);
      said_ = true;
    }
    condition_.notify_all();
  }
  bool heard() {
    thread_.join();
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool said_ = false, heard_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("who waits until a time wakes when the clock comes there, and not before") {
  SetClock clock;
  Waiting late(steady_us() + 1000);
  Waiting early(steady_us() + 10);
  clock.until_waiting(2);
  clock.advance_us(10);
  CHECK_FALSE(early.heard());
  clock.until_waiting(1);  // the other one still does
  clock.advance_us(989);
  clock.until_waiting(1);
  clock.advance_us(1);
  CHECK_FALSE(late.heard());
}

TEST_CASE("who waits for a word hears it while the clock stands still") {
  SetClock clock;
  Waiting one(steady_us() + 1000);
  clock.until_waiting(1);
  one.say();
  CHECK(one.heard());
}

TEST_CASE("the machine's clock goes on by itself, and a wait by it ends") {
  const std::int64_t begin_us = steady_us();
  Waiting one(begin_us + 2000);
  CHECK_FALSE(one.heard());
  CHECK(steady_us() - begin_us >= 2000);
  Waiting never(INT64_MAX);
  never.say();
  CHECK(never.heard());
}
