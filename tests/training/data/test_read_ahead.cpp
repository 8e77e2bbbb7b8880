// Threads that read ahead: order, limits, seeking, and how many of them are at work.
#include <deque>
#include <optional>
#include <random>

#include "data/fake_filler.h"
#include "data/read_ahead.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/event_clock.h"
#include "support/says.h"
#include "support/set_clock.h"
#include "support/until.h"

namespace isobar::test_read_ahead {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kSteps = 10;  // of an epoch

BatchOrder small_order() { return {Sampler(2 * kSteps, true, 1), 2}; }

}  // namespace

TEST_CASE("batches come in order and whole, with any number of threads, parts and batches ahead") {
  const Deadline deadline("batches in order", 5min);
  for (const std::int64_t threads : {1, 2, 5, 16}) {
    for (const std::int64_t ahead : {1, 2, 7, 32}) {
      for (const std::int64_t parts : {1, 3}) {
        const auto filler = std::make_shared<FakeFiller>(parts);
        filler->most_delay_us = 200;
        EventClock clock(static_cast<int>(threads));
        ReadAhead reading(filler, small_order(), {.threads = threads, .ahead = ahead});
        bool in_order = true;
        for (std::int64_t batch = 0; batch < 60; ++batch) in_order &= filler->holds(reading.take(), batch);
        INFO(threads << " threads, " << ahead << " ahead, " << parts << " parts");
        CHECK(in_order);
        CHECK(filler->most_filling <= threads);
        const std::int64_t bytes = (60 + ahead) * parts * 10;
        clock.until_still();
        CHECK(filler->highest == 59 + ahead);  // and never a batch more
        CHECK(*filler->most_slots <= ahead + 1);
        CHECK(reading.counts().read_bytes == bytes);
      }
    }
  }
}

TEST_CASE("of a limited number of slots no more are ever made, and none is written while it is held") {
  const Deadline deadline("limited slots", 5min);
  for (const std::int64_t most : {1, 2, 3}) {
    const auto filler = std::make_shared<FakeFiller>(2);
    filler->most_delay_us = 30;
    ReadAhead reading(filler, small_order(), {.threads = 8, .ahead = 8, .most_slots = most});
    std::deque<FilledSlot> held;
    std::mt19937 random(3);
    bool in_order = true;
    for (std::int64_t batch = 0; batch < 2000; ++batch) {
      while (static_cast<std::int64_t>(held.size()) >= most || (!held.empty() && random() % 2 == 0)) {
        in_order &= filler->holds(held.front(), held.front().plan.batch);
        filler->mark_held(held.front().memory.get(), false);
        held.pop_front();
      }
      held.push_back(reading.take());
      filler->mark_held(held.back().memory.get(), true);
      in_order &= filler->holds(held.back(), batch);
    }
    CHECK(in_order);
    CHECK(filler->written_while_held == 0);
    CHECK(*filler->most_slots == most);
  }
}

TEST_CASE("nothing of an epoch is read before its first batch is asked for, where that is wanted") {
  const Deadline deadline("epochs apart", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  EventClock clock(3);
  ReadAhead reading(filler, small_order(), {.threads = 3, .ahead = 4, .crosses_epochs = false});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t step = 0; step < kSteps; ++step)
      CHECK(filler->holds(reading.take(), epoch * kSteps + step));
    clock.until_still();
    CHECK(filler->highest == (epoch + 1) * kSteps - 1);
  }
  ReadAhead crossing(filler, small_order(), {.threads = 3, .ahead = 4});
  clock.expect(6);
  for (std::int64_t step = 0; step < 3 * kSteps; ++step) crossing.take();
  clock.until_still();
  CHECK(filler->highest == 3 * kSteps + 3);
}

TEST_CASE("after a seek nothing is read before the next batch is asked for") {
  const Deadline deadline("rest after a seek", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  EventClock clock(3);
  ReadAhead reading(filler, small_order(), {.threads = 3, .ahead = 4});
  reading.take();
  clock.until_still();
  REQUIRE(filler->highest == 4);
  for (const std::int64_t batch : {20, 40, 60}) {
    const std::int64_t before = filler->highest;
    reading.seek(batch);
    clock.until_still();
    CHECK(filler->highest == before);
    CHECK(filler->holds(reading.take(), batch));
    clock.until_still();
    REQUIRE(filler->highest == batch + 4);
  }
}

TEST_CASE("threads end with their epoch where they are not kept, and start again for the next") {
  const Deadline deadline("threads of an epoch", 5min);
  const auto filler = std::make_shared<FakeFiller>(2);
  filler->most_delay_us = 100;
  ReadAhead reading(filler, small_order(),
                    {.threads = 4, .ahead = 4, .crosses_epochs = false, .keeps_threads = false});
  CHECK(*filler->threads == 0);
  for (std::int64_t batch = 0; batch < 4 * kSteps; ++batch) {
    const int before = *filler->threads;
    CHECK(filler->holds(reading.take(), batch));
    if (batch % kSteps == 0) CHECK(*filler->threads > before);
    CHECK(*filler->alive <= 4);
    if (batch % kSteps == kSteps - 1) until([&] { return *filler->alive == 0; });
  }
  // In the middle of an epoch those of before still wait for work: they end all the same.
  std::mt19937 random(2);
  for (int n = 0; n < 50; ++n) {
    const auto batch = static_cast<std::int64_t>(random() % 100);
    reading.seek(batch);
    for (std::int64_t k = 0; k < 3; ++k) CHECK(filler->holds(reading.take(), batch + k));
    CHECK(*filler->alive <= 4);
  }
}

TEST_CASE("kept threads are the same in every epoch, and none is left in the end") {
  const Deadline deadline("kept threads", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  {
    ReadAhead reading(filler, small_order(), {.threads = 3, .ahead = 2});
    for (std::int64_t batch = 0; batch < 3 * kSteps; ++batch) reading.take();
    CHECK(*filler->alive == *filler->threads);
    CHECK(*filler->threads >= 1);
    CHECK(*filler->threads <= 3);
  }
  CHECK(*filler->alive == 0);
}

TEST_CASE("reading goes on wherever it is sent, at any time") {
  const Deadline deadline("seeking", 5min);
  std::mt19937 random(4);
  for (const std::int64_t most : {0, 2}) {
    for (const bool crosses : {true, false}) {
      const auto filler = std::make_shared<FakeFiller>(3);
      filler->most_delay_us = 300;
      ReadAhead reading(filler, small_order(),
                        {.threads = 4, .ahead = 4, .most_slots = most, .crosses_epochs = crosses});
      bool right = true;
      for (int n = 0; n < 100; ++n) {
        const auto from = static_cast<std::int64_t>(random() % 200);
        reading.seek(from);
        if (random() % 4 == 0) reading.seek(from);
        const auto count = static_cast<std::int64_t>(random() % 6);
        for (std::int64_t k = 0; k < count; ++k) right &= filler->holds(reading.take(), from + k);
        if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
      }
      CHECK(right);
      if (most > 0) CHECK(*filler->most_slots <= most);
    }
  }
}

TEST_CASE("what lay ready and how long a batch was waited for is counted") {
  const Deadline deadline("counts", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  filler->hold_ms = 100;
  EventClock clock(2);
  ReadAhead reading(filler, small_order(), {.threads = 1, .ahead = 3});
  CHECK(reading.counts().stall_us == 0);
  reading.take();
  CHECK(reading.counts().stall_us == 100'000);
  CHECK(reading.counts().ready == 0);
  sleep_us(10'000'000);
  CHECK(filler->highest == 3);
  reading.take();
  CHECK(reading.counts().ready == 3);
  CHECK(reading.counts().stall_us == 100'000);
}

// On a clock that wakes nobody: who is asleep goes on because it was called, or not at all.

TEST_CASE("a batch that is taken calls a thread that sleeps for the one behind the last") {
  const Deadline deadline("a thread for one batch more", 5min);
  for (const bool kept : {true, false}) {
    SetClock clock;
    const auto filler = std::make_shared<FakeFiller>();
    ReadAhead reading(filler, small_order(),
                      {.threads = 2, .ahead = 3, .crosses_epochs = kept, .keeps_threads = kept});
    for (std::int64_t batch = 0; batch < kSteps - 4; ++batch) {
      CHECK(filler->holds(reading.take(), batch));
      until([&] { return filler->highest == batch + 3; });
      clock.until_waiting(2);
    }
  }
}

TEST_CASE("a slot that comes back calls a thread that sleeps") {
  const Deadline deadline("a thread for a slot", 5min);
  SetClock clock;
  const auto filler = std::make_shared<FakeFiller>();
  ReadAhead reading(filler, small_order(), {.threads = 2, .ahead = 4, .most_slots = 2});
  std::optional<FilledSlot> held = reading.take();
  for (std::int64_t batch = 1; batch < 6; ++batch) {
    until([&] { return filler->highest == batch; });
    clock.until_waiting(2);
    held.reset();
    until([&] { return filler->highest == batch + 1; });
    held = reading.take();
  }
}

TEST_CASE("threads that sleep are called for the parts of a batch") {
  const Deadline deadline("threads for parts", 5min);
  SetClock clock;
  const auto filler = std::make_shared<FakeFiller>(2);
  ReadAhead reading(filler, small_order(), {.threads = 2, .ahead = 1, .most_slots = 1});
  // The batch behind it is prepared when its taker and the other thread are asleep.
  reading.take().set_before_reuse([&] { clock.until_waiting(2); });
  filler->hold_ms = 1000;
  std::jthread takes([&] { CHECK(filler->holds(reading.take(), 1)); });
  until([&] { return filler->filling == 2; });
  filler->hold_ms = 0;
  clock.until_waiting(3);
  clock.advance_us(1'000'000);
}

}  // namespace isobar::test_read_ahead
