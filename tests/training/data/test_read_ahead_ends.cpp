// Threads that read ahead: errors, stops, and slots that outlive everything else.
#include <pthread.h>

#include "core/clock.h"
#include "data/fake_filler.h"
#include "data/read_ahead.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/event_clock.h"
#include "support/set_clock.h"
#include "support/until.h"

namespace isobar::test_read_ahead_ends {

using namespace std::chrono_literals;

namespace {

BatchOrder small_order() { return {Sampler(20, true, 1), 2}; }

BatchPlan slot_plan(std::int64_t batch) {
  BatchPlan plan;
  plan.batch = batch;
  return plan;
}

/// While it lives new threads want more memory for their stacks than there are addresses.
class HugeStacks {
 public:
  HugeStacks() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
  }
  ~HugeStacks() { pthread_setattr_default_np(&before_); }
  HugeStacks(const HugeStacks&) = delete;
  HugeStacks& operator=(const HugeStacks&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace

TEST_CASE("an error comes in its turn, once, and what follows it is good") {
  const Deadline deadline("errors in order", 5min);
  for (const std::int64_t threads : {1, 4}) {
    for (const std::int64_t most : {0, 3}) {
      const auto filler = std::make_shared<FakeFiller>(3);
      filler->most_delay_us = 200;
      filler->failing = {3, 7, 8};
      filler->failing_plans = {12};
      ReadAhead reading(filler, small_order(), {.threads = threads, .ahead = 5, .most_slots = most});
      for (std::int64_t batch = 0; batch < 40; ++batch) {
        INFO("batch " << batch);
        if (filler->failing.count(batch) > 0) {
          CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("made to fail"));
        } else if (batch == 12) {
          CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("cannot be planned"));
        } else {
          CHECK(filler->holds(reading.take(), batch));
        }
      }
      reading.seek(3);
      CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("made to fail"));
      CHECK(filler->holds(reading.take(), 4));
      if (most > 0) CHECK(*filler->most_slots <= most);
    }
  }
}

TEST_CASE("whatever a thread throws arrives as it was") {
  const Deadline deadline("other exceptions", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  filler->failing = {1};
  filler->throws = [] { throw std::bad_alloc(); };
  ReadAhead reading(filler, small_order(), {.threads = 2, .ahead = 2});
  reading.take();
  CHECK_THROWS_AS(reading.take(), std::bad_alloc);
  filler->no_memory = true;
  std::vector<FilledSlot> held;
  CHECK_THROWS_AS(
      [&] {
        while (true) held.push_back(reading.take());
      }(),
      std::bad_alloc);
  filler->no_memory = false;
  held.clear();
  reading.seek(5);
  CHECK(filler->holds(reading.take(), 5));
}

TEST_CASE("it ends, with full queues and with threads in the middle of a fill") {
  const Deadline deadline("ending", 5min);
  for (const bool full : {true, false}) {
    for (const bool kept : {true, false}) {
      const auto filler = std::make_shared<FakeFiller>(4);
      auto reading = std::make_unique<ReadAhead>(
          filler, small_order(),
          ReadAheadSetting{.threads = 8, .ahead = 8, .crosses_epochs = kept, .keeps_threads = kept});
      FilledSlot first = reading->take();
      if (full) {
        until([&] { return filler->highest >= 8 && filler->filling == 0; });
      }
      reading.reset();
      CHECK(filler->holds(first, 0));
    }
  }
  const SetClock clock;  // stands still: a fill that is held never ends by itself
  const auto slow = std::make_shared<FakeFiller>(2);
  slow->hold_ms = 30'000;
  auto reading = std::make_unique<ReadAhead>(slow, small_order(), ReadAheadSetting{.threads = 4, .ahead = 4});
  std::jthread stops([&] {
    until([&] { return slow->filling >= 4; });
    reading->stop();
  });
  // Half-filled batches are handed to nobody.
  CHECK_THAT(error_of([&] { reading->take(); }, Exit::failed), says("was stopped"));
  CHECK_THAT(error_of([&] { reading->take(); }, Exit::failed), says("was stopped"));
  reading.reset();
}

TEST_CASE("a stop in an epoch whose threads are new is an error like any other") {
  const Deadline deadline("stop among new threads", 5min);
  const SetClock clock;  // outlives the threads that wait on it
  const auto filler = std::make_shared<FakeFiller>();
  ReadAhead reading(filler, small_order(),
                    {.threads = 2, .ahead = 2, .crosses_epochs = false, .keeps_threads = false});
  for (int batch = 0; batch < 10; ++batch) reading.take();
  filler->hold_ms = 30'000;  // the threads of the first epoch do not read it any more
  std::jthread stops([&] {
    until([&] { return filler->filling > 0; });
    reading.stop();
  });
  CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("was stopped"));
}

TEST_CASE("threads that cannot be started are an error, also while those of before wait for work") {
  const Deadline deadline("threads that cannot be started", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  ReadAhead reading(filler, small_order(),
                    {.threads = 2, .ahead = 2, .crosses_epochs = false, .keeps_threads = false});
  CHECK(filler->holds(reading.take(), 0));
  until([&] { return filler->highest >= 2 && filler->filling == 0; });
  reading.seek(3);  // in mid-epoch: its threads are still there
  {
    const HugeStacks none_can_be_started;
    CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed),
               says("thread 1 of 2 cannot be started") && says("data.workers"));
  }
  CHECK(filler->holds(reading.take(), 3));
}

TEST_CASE("slots may be held when their loader is gone") {
  const Deadline deadline("slots without a loader", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  int waited = 0;
  {
    std::vector<FilledSlot> held;
    {
      ReadAhead reading(filler, small_order(), {.threads = 2, .ahead = 3});
      for (int batch = 0; batch < 5; ++batch) held.push_back(reading.take());
      held[1].set_before_reuse([&] { ++waited; });
    }
    CHECK(*filler->slots == 5);
    for (std::int64_t batch = 0; batch < 5; ++batch)
      CHECK(filler->holds(held[static_cast<std::size_t>(batch)], batch));
    const FilledSlot copy = held[1];
    held.clear();
    CHECK(*filler->slots == 1);
    CHECK(waited == 0);
  }
  CHECK(*filler->slots == 0);
  CHECK(waited == 1);  // a device may read from it until then
}

TEST_CASE("who keeps all slots and wants another is told so, and can go on") {
  const Deadline deadline("all slots are held", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  const EventClock clock(3);
  ReadAhead reading(filler, small_order(), {.threads = 2, .ahead = 2, .most_slots = 2, .patience_ms = 300});
  std::vector<FilledSlot> held = {reading.take(), reading.take()};
  const std::int64_t begin_us = steady_us();
  CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed),
             says("all 2 slots of the ring are held") && says("give a batch back"));
  CHECK(steady_us() - begin_us == 300'000);
  held.clear();
  CHECK(filler->holds(reading.take(), 2));
}

TEST_CASE("what has to happen before a slot is written again happens once, when it is free and not before") {
  const Deadline deadline("before reuse", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  std::map<std::int64_t, int> calls;
  std::map<std::int64_t, bool> was_free;
  std::mutex mutex;
  {
    ReadAhead reading(filler, small_order(), {.threads = 3, .ahead = 3, .most_slots = 3});
    std::map<std::int64_t, std::shared_ptr<std::atomic<bool>>> freed;
    for (std::int64_t batch = 0; batch < 50; ++batch) {
      const FilledSlot slot = reading.take();
      const auto free = std::make_shared<std::atomic<bool>>(false);
      slot.set_before_reuse([&, batch, free, memory = slot.memory.get()] {
        const std::scoped_lock lock(mutex);
        ++calls[batch];
        was_free[batch] = *free && filler->holds({slot_plan(batch), SlotMemory(SlotMemory(), memory),
                                                  filler->slot_bytes(), nullptr},
                                                 batch);
      });
      *free = true;  // from here on only `slot` itself holds it
    }
  }
  CHECK(calls.size() == 50);
  for (const auto& [batch, count] : calls) CHECK(count == 1);
  for (const auto& [batch, free] : was_free) CHECK(free);
}

TEST_CASE("a wait before reuse that fails is the error of the batch that would have come") {
  const Deadline deadline("failing reuse", 5min);
  const auto filler = std::make_shared<FakeFiller>();
  ReadAhead reading(filler, small_order(), {.threads = 1, .ahead = 1, .most_slots = 1});
  reading.take().set_before_reuse([] { throw Error("the device is gone", "", "", Exit::failed); });
  CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("the device is gone"));
  CHECK(filler->holds(reading.take(), 2));
}

TEST_CASE("who waits for a batch that fails is woken") {
  const Deadline deadline("waking for an error", 5min);
  SetClock clock;  // wakes nobody by itself
  const auto filler = std::make_shared<FakeFiller>();
  ReadAhead reading(filler, small_order(), {.threads = 1, .ahead = 1, .most_slots = 1});
  reading.take().set_before_reuse([&] {
    clock.until_waiting(1);  // who waits for it
    throw Error("the device is gone", "", "", Exit::failed);
  });
  CHECK_THAT(error_of([&] { reading.take(); }, Exit::failed), says("the device is gone"));
}

}  // namespace isobar::test_read_ahead_ends
