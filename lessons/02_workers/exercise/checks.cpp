// What is asked of my/02_read_ahead.cpp, easy things first.
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "02_workers/exercise/part.h"
#include "check/check.h"
#include "check/patience.h"

namespace isobar {
namespace exercise {
namespace {

constexpr std::int64_t kNone = -1;

/// Batches that are in memory.
std::atomic<std::int64_t> in_memory{0};

/// The memory of a batch holds its number.
Memory memory_of(std::int64_t batch) {
  ++in_memory;
  const std::shared_ptr<std::int64_t> number(new std::int64_t(batch), [](std::int64_t* one) {
    delete one;
    --in_memory;
  });
  return {number, reinterpret_cast<std::byte*>(number.get())};
}

std::int64_t number_in(const Memory& memory) {
  return memory ? *reinterpret_cast<const std::int64_t*>(memory.get()) : kNone;
}

std::string words(std::int64_t batch) {
  return batch == kNone ? "null, which means that no batch is left" : fmt::format("batch {}", batch);
}

/// A source of batches that counts, and can hold back or fail chosen ones.
class Source {
 public:
  Fill fill() {
    return [this](std::int64_t batch) {
      std::unique_lock lock(mutex_);
      started_.push_back(batch);
      changed_.notify_all();
      changed_.wait(lock, [&] { return held_.count(batch) == 0; });
      ++ended_;
      if (batch == fails_) throw std::runtime_error(fmt::format("batch {} cannot be read", batch));
      return memory_of(batch);
    };
  }
  void hold(std::int64_t batch) {
    const std::lock_guard lock(mutex_);
    held_.insert(batch);
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }
  void fail(std::int64_t batch) { fails_ = batch; }
  std::vector<std::int64_t> started() const {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(started().size()); }
  std::int64_t ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> started_;
  std::set<std::int64_t> held_;
  std::int64_t ended_ = 0;
  std::int64_t fails_ = kNone;
};

void expect_batch(BatchQueue& queue, std::int64_t wanted, const char* look) {
  const std::int64_t came = number_in(queue.take());
  expect(came == wanted, {fmt::format("take() to hand out {}", words(wanted)), words(came), look});
}

/// Gives the queue up while batch `held` is filled.
void expect_joined(std::unique_ptr<BatchQueue> queue, Source& source, std::int64_t held) {
  std::atomic<bool> gone{false};
  std::thread owner([&] {
    queue.reset();
    gone = true;
  });
  until_quiet();
  expect(!gone, {fmt::format("the destructor to wait for the thread that fills batch {}", held),
                 "it was done before", "how the destructor ends threads: join, not detach"});
  source.let_go();
  owner.join();
}

void check_first(const Part& part) {
  Source source;
  source.hold(2);
  auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 3, .threads = 1, .ahead = 1});
  for (std::int64_t batch = 0; batch < 2; ++batch)
    expect_batch(*queue, batch, "whether work() runs in a thread and puts what it filled where take() looks");
  const bool begun = comes([&] { return source.count() == 3; });
  expect(begun, {"batch 2 to be filled once there is room for it again", "nobody fills it",
                 "whether take() says that there is room"});
  expect_joined(std::move(queue), source, 2);
}

void check_together(const Part& part) {
  Source source;
  source.hold(0);
  const auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 8, .threads = 3, .ahead = 3});
  comes([&] { return source.count() == 3; });
  const std::int64_t came = source.count();
  source.let_go();
  expect(came >= 3, {"three batches in work at the same time", fmt::format("{} was in work", came),
                     "what work() does while it holds the lock"});
  for (int batch = 0; batch < 8; ++batch) queue->take();
}

void check_order(const Part& part) {
  Source source;
  source.hold(0);
  const auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 9, .threads = 3, .ahead = 3});
  comes([&] { return source.ended() == 2; });  // batches 1 and 2, while 0 is still read
  std::thread later([&] {
    until_quiet();
    source.let_go();
  });
  const std::int64_t first = number_in(queue->take());
  later.join();
  expect(first == 0, {"batch 0 first, though batches 1 and 2 are filled before it", words(first),
                      "what take() waits for: its batch, or any"});
  for (std::int64_t batch = 1; batch < 9; ++batch) expect_batch(*queue, batch, "the order of take()");
}

void check_once(const Part& part) {
  constexpr std::int64_t kBatches = 200;
  Source source;
  source.hold(0);  // so that another thread that could fill it too has the time
  {
    const auto queue =
        part.make_read_ahead(source.fill(), {.first = 0, .end = kBatches, .threads = 4, .ahead = 8});
    until_quiet();
    source.let_go();
    for (std::int64_t batch = 0; batch < kBatches; ++batch) queue->take();
  }
  std::vector<int> times(kBatches, 0);
  for (const std::int64_t batch : source.started())
    if (batch >= 0 && batch < kBatches) ++times[static_cast<std::size_t>(batch)];
  for (std::size_t batch = 0; batch < times.size(); ++batch)
    expect(times[batch] == 1, {fmt::format("batch {} to be filled once", batch),
                               fmt::format("it was filled {} times", times[batch]),
                               "whether a thread claims its batch under the lock"});
}

/// With ahead = 3, after so many batches were taken.
void expect_bound(const Source& source, std::int64_t taken) {
  const std::int64_t came = source.count();
  const std::int64_t wanted = 3 + taken;
  const std::string when = taken == 0 ? "before one is taken" : fmt::format("once {} were taken", taken);
  expect(came >= wanted,
         {fmt::format("{} batches to be filled {} (ahead = 3)", wanted, when), fmt::format("{}", came),
          "whether each thread goes on after a batch, and take() says that there is room again"});
  expect(came != wanted + 1, {fmt::format("{} batches to be filled {} (ahead = 3)", wanted, when),
                              fmt::format("{}, one too many", came),
                              "what counts: batches that were claimed and not taken, fewer than ahead"});
  expect(came <= wanted,
         {fmt::format("{} batches to be filled {} (ahead = 3)", wanted, when), fmt::format("{}", came),
          "whether a thread that was woken looks again if there is room for it"});
}

void check_bound(const Part& part) {
  Source source;
  const auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 50, .threads = 2, .ahead = 3});
  for (std::int64_t taken = 0; taken < 50; ++taken) {
    if (taken < 5) {
      until_quiet();
      expect_bound(source, taken);
      const std::int64_t kept = in_memory;
      expect(kept <= 3, {"a batch to be handed over, and not to be kept: at most 3 in memory",
                         fmt::format("{} after {} were taken", kept, taken), "what take() leaves in done_"});
    }
    queue->take();
  }
}

void check_end(const Part& part) {
  Source source;
  // More threads than there is room for: at the end some of them wait.
  const auto queue = part.make_read_ahead(source.fill(), {.first = 4, .end = 11, .threads = 4, .ahead = 2});
  for (std::int64_t batch = 4; batch < 11; ++batch) {
    until_quiet();
    expect_batch(*queue, batch, "that the first batch is setting_.first");
  }
  for (int again = 0; again < 2; ++again)
    expect_batch(*queue, kNone, "what take() does when taken_ has reached setting_.end");
  until_quiet();
  for (const std::int64_t batch : source.started())
    expect(batch < 11,
           {"fill_ to be called for batches 4 to 10 only", fmt::format("it was called for batch {}", batch),
            "what a thread asks after its wait: claimed_ may have got to the end meanwhile"});
}

void check_failure(const Part& part) {
  Source source;
  source.fail(2);
  const auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 5, .threads = 2, .ahead = 4});
  until_quiet();
  for (std::int64_t batch = 0; batch < 2; ++batch)
    expect_batch(*queue, batch, "that a failure comes when its own batch is taken, not before");
  std::string came = "none";
  try {
    const std::int64_t number = number_in(queue->take());
    came = "none, but " + words(number);
  } catch (const std::runtime_error& error) {
    came = error.what();
  }
  expect(came == "batch 2 cannot be read", {"take() to throw what fill_ threw for batch 2", came,
                                            "what work() keeps of an exception (std::current_exception)"});
  std::string next;
  try {
    next = words(number_in(queue->take()));
  } catch (const std::runtime_error& error) {
    next = std::string("the failure once more: ") + error.what();
  }
  expect(next == "batch 3", {"take() to hand out batch 3 after it threw the failure of batch 2", next,
                             "what take() does before it throws"});
}

void check_stop_waiting(const Part& part) {
  Source source;
  source.hold(0);
  const auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 1, .threads = 1, .ahead = 2});
  std::atomic<bool> ended{false};
  std::string came = "it still waits";
  std::thread taker([&] {
    try {
      came = words(number_in(queue->take()));
    } catch (const QueueStopped&) {
      came = "QueueStopped";
    }
    ended = true;
  });
  until_quiet();
  queue->stop();
  const bool woke = comes([&] { return ended.load(); });
  source.let_go();
  expect(woke, {"stop() to wake a take() that waits for its batch", "it still waits",
                "whether stop() notifies, and whether the condition of take() asks for it"});
  taker.join();
  expect(came == "QueueStopped", {"a take() that waits to throw QueueStopped after stop()", came,
                                  "what take() does once it is woken"});
}

void check_stop_full(const Part& part) {
  Source source;
  auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 50, .threads = 2, .ahead = 3});
  until_quiet();  // full: all threads wait for room
  queue->stop();
  queue->stop();
  std::string came;
  try {
    came = words(number_in(queue->take()));
  } catch (const QueueStopped&) {
    came = "QueueStopped";
  }
  expect(came == "QueueStopped", {"take() to throw QueueStopped after stop(), though batches lie ready", came,
                                  "the first thing that take() asks"});
  queue.reset();  // hangs where a thread that waits for room is not woken
}

void check_destructor(const Part& part) {
  Source source;
  source.hold(1);
  auto queue = part.make_read_ahead(source.fill(), {.first = 0, .end = 50, .threads = 2, .ahead = 3});
  comes([&] { return source.count() >= 2; });
  expect_joined(std::move(queue), source, 1);
  const std::int64_t count = source.count();
  until_quiet();
  expect(source.count() == count, {"nothing to be filled once the queue is gone",
                                   fmt::format("{} more batches", source.count() - count), "the destructor"});
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"first", exercise::check_first},
                                           {"together", exercise::check_together},
                                           {"order", exercise::check_order},
                                           {"once", exercise::check_once},
                                           {"bound", exercise::check_bound},
                                           {"end", exercise::check_end},
                                           {"failure", exercise::check_failure},
                                           {"stop_waiting", exercise::check_stop_waiting},
                                           {"stop_full", exercise::check_stop_full},
                                           {"destructor", exercise::check_destructor}});
}

}  // namespace isobar
