#include "data/read_ahead.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "data/affinity.h"
#include "data/fill_account.h"

namespace isobar {
inline namespace read_ahead_state {

/// A slot's memory and what has to happen before it is written again, or given back to the system.
struct Slot {
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() {
    try {
      wait();
    } catch (...) {
      // A reader that still uses it is broken, and reports that to its callers.
    }
  }
  void wait() {
    if (before_reuse) std::exchange(before_reuse, {})();
  }

  SlotMemory memory;
  std::function<void()> before_reuse;
};
using SlotPtr = std::shared_ptr<Slot>;

/// A batch that is filled, or being filled.
struct Open {
  std::int64_t batch = 0;
  SlotPtr slot;  ///< until it is lent
  FilledSlot filled;
  std::int64_t parts = 0;
  std::int64_t next_part = 0;   ///< the first that nobody took
  std::int64_t parts_left = 0;  ///< parts that are not filled
  bool prepared = false;        ///< plan and memory are there
  bool done = false;            ///< filled, or failed
  std::exception_ptr failure;
};
using OpenPtr = std::shared_ptr<Open>;

/// What a thread is to do: prepare a batch (no part), fill a part of it, or end (no batch).
struct Task {
  OpenPtr open;
  std::int64_t part = -1;
  bool prepares() const { return part < 0; }
};

}  // namespace read_ahead_state

constinit decltype(seams::read_ahead) seams::read_ahead{
    [](std::shared_ptr<const SlotFiller> filler, const BatchOrder& order,
       const ReadAheadSetting& setting) -> std::unique_ptr<SlotQueue> {
      return std::make_unique<ReadAhead>(std::move(filler), order, setting);
    }};

void FilledSlot::set_before_reuse(std::function<void()> wait) const { *reuse_hook = std::move(wait); }

/// Everything below `mutex`, but for `filler`, `order` and `setting`, which do not change.
struct ReadAhead::State : std::enable_shared_from_this<ReadAhead::State> {
  State(std::shared_ptr<const SlotFiller> slot_filler, const BatchOrder& batch_order,
        const ReadAheadSetting& read_setting)
      : filler(std::move(slot_filler)), order(batch_order), setting(read_setting) {}

  /// Wakes who may open one batch more. Threads that end with an epoch may all be due to end.
  void call_for_one_batch();
  void wait_for_first(std::unique_lock<std::mutex>& lock);
  void start_threads(std::vector<std::jthread>& ended);
  void wait_for(std::vector<std::jthread>& ended);  ///< without the lock

  const std::shared_ptr<const SlotFiller> filler;
  const BatchOrder order;
  const ReadAheadSetting setting;
  std::stop_source stopping;

  mutable std::mutex mutex;
  std::condition_variable work_came;
  std::condition_variable batch_done;
  std::deque<OpenPtr> window;       ///< batches asked .. next - 1
  std::int64_t asked = 0;           ///< what `take` gives next
  std::int64_t next = 0;            ///< what is opened next
  bool wanted = false;              ///< nothing is opened between `seek` and the next `take`
  std::int64_t allowed_epoch = -1;  ///< nothing of a later one is opened, unless reading crosses epochs
  std::vector<SlotPtr> free_slots;
  std::int64_t slots = 0;             ///< slots that were made or are being made
  std::vector<std::jthread> threads;  ///< joined by their destructors
  std::int64_t generations = 0;       ///< generation of threads; those of an earlier one end
  std::exception_ptr broken;          ///< what ended a thread
  ReadAheadCounts counts;

 private:
  void work(std::int64_t thread, std::int64_t generation);
  Task claim();
  /// No batch when the thread is to end.
  Task next_task(std::int64_t generation, FillAccount& account);
  void prepare(const OpenPtr& open);
  void fill(const OpenPtr& open, std::int64_t part, std::int64_t thread, FillAccount& account);
  void fail(const OpenPtr& open, std::exception_ptr failure);
  SlotPtr claim_slot();
  void forget_slot();
  SlotMemory lend(const SlotPtr& slot);
  void give_back(const SlotPtr& slot);
  bool may_open() const;
  bool all_slots_are_out() const;
  bool epoch_is_over() const;
  bool has_ended(std::int64_t generation) const;
};

void ReadAhead::State::call_for_one_batch() {
  setting.keeps_threads ? work_came.notify_one() : work_came.notify_all();
}

bool ReadAhead::State::may_open() const {
  if (!wanted) return false;
  if (next - asked >= setting.ahead) return false;
  if (!setting.crosses_epochs && order.epoch_of(next) > allowed_epoch) return false;
  return setting.most_slots == 0 || !free_slots.empty() || slots < setting.most_slots;
}

bool ReadAhead::State::all_slots_are_out() const {
  return window.empty() && setting.most_slots > 0 && free_slots.empty() && slots >= setting.most_slots;
}

bool ReadAhead::State::epoch_is_over() const {
  return !setting.keeps_threads && order.epoch_of(next) > allowed_epoch;
}

/// Before it looks for work: one of an earlier generation would find that of its successors, and continue.
bool ReadAhead::State::has_ended(std::int64_t generation) const {
  return stopping.stop_requested() || generation != generations;
}

/// Together with the decision to open a batch, so that two threads do not count on the same slot.
SlotPtr ReadAhead::State::claim_slot() {
  if (free_slots.empty()) {
    const SlotPtr made = std::make_shared<Slot>();
    ++slots;
    return made;
  }
  SlotPtr slot = std::move(free_slots.back());
  free_slots.pop_back();
  return slot;
}

void ReadAhead::State::forget_slot() {
  const std::scoped_lock lock(mutex);
  --slots;
}

Task ReadAhead::State::claim() {
  for (const OpenPtr& open : window) {
    if (open->prepared && !open->done && open->next_part < open->parts) return {open, open->next_part++};
  }
  if (!may_open()) return {};
  const OpenPtr open = std::make_shared<Open>();
  open->slot = claim_slot();
  open->batch = next++;
  window.push_back(open);
  return {open, -1};
}

Task ReadAhead::State::next_task(std::int64_t generation, FillAccount& account) {
  std::unique_lock lock(mutex);
  Task task;
  const auto knows = [&] {
    if (has_ended(generation)) return true;
    task = claim();
    return task.open != nullptr || epoch_is_over();
  };
  if (knows()) return task;
  lock.unlock();  // the report may take its time
  account.tell();
  const std::int64_t begin_us = steady_us();
  lock.lock();
  wait_until(lock, work_came, kNever_us, knows);
  lock.unlock();
  if (task.open) account.waited(task.open->batch, begin_us, steady_us());
  return task;
}

SlotMemory ReadAhead::State::lend(const SlotPtr& slot) {
  return {slot->memory.get(), [state = weak_from_this(), slot](std::byte*) {
            if (const auto alive = state.lock()) alive->give_back(slot);
          }};
}

void ReadAhead::State::give_back(const SlotPtr& slot) {
  const std::scoped_lock lock(mutex);
  free_slots.push_back(slot);
  if (setting.most_slots > 0) call_for_one_batch();  // else nobody waits for slots
}

void ReadAhead::State::prepare(const OpenPtr& open) {
  const SlotPtr slot = std::exchange(open->slot, nullptr);
  if (!slot->memory) {
    try {
      slot->memory = filler->allocate();
    } catch (...) {
      forget_slot();
      throw;
    }
  }
  SlotMemory lent = lend(slot);  // from here on it comes back whatever happens
  slot->wait();
  BatchPlan plan = filler->plan(open->batch);
  const std::scoped_lock lock(mutex);
  open->parts = open->parts_left = filler->parts(plan);
  open->filled = {std::move(plan), std::move(lent), filler->slot_bytes(), {slot, &slot->before_reuse}};
  open->prepared = true;
  if (open->parts > 1) work_came.notify_all();  // this thread comes back for one of them
}

void ReadAhead::State::fill(const OpenPtr& open, std::int64_t part, std::int64_t thread,
                            FillAccount& account) {
  const std::int64_t begin_us = steady_us();
  const std::int64_t cpu_us = thread_cpu_us();
  const std::stop_token stop = stopping.get_token();
  FillCost cost{.thread = thread};
  filler->fill(open->filled.plan, part, {open->filled.memory.get(), open->filled.bytes}, cost, stop);
  account.filled(open->batch, begin_us, cost);
  const std::scoped_lock lock(mutex);
  counts.read_bytes += cost.read_bytes;
  counts.cpu_us += thread_cpu_us() - cpu_us;
  if (--open->parts_left > 0 || open->done) return;
  open->done = true;
  batch_done.notify_all();
}

void ReadAhead::State::fail(const OpenPtr& open, std::exception_ptr failure) {
  const std::scoped_lock lock(mutex);
  if (!open->done) open->failure = std::move(failure);
  open->done = true;
  batch_done.notify_all();
}

void ReadAhead::State::work(std::int64_t thread, std::int64_t generation) {
  try {
    run_on(setting.cpus);
    FillAccount account(setting.spans, thread);
    while (true) {
      const Task task = next_task(generation, account);
      if (!task.open) return;
      std::exception_ptr failure;  // given away whole: it belongs to one thread at a time
      try {
        if (task.prepares()) {
          prepare(task.open);
        } else {
          fill(task.open, task.part, thread, account);
        }
      } catch (...) {
        failure = std::current_exception();
      }
      if (failure) fail(task.open, std::move(failure));
    }
  } catch (...) {  // no memory for a few bytes: nobody fills what this thread would have filled
    const std::scoped_lock lock(mutex);
    broken = std::current_exception();
    batch_done.notify_all();
  }
}

/// Threads of the epoch before have ended, or are about to: they are given to the caller to be waited for.
void ReadAhead::State::start_threads(std::vector<std::jthread>& ended) {
  if (!threads.empty() && setting.keeps_threads) return;
  ended.swap(threads);
  ++generations;
  work_came.notify_all();  // those that wait for work are to end, also where the new ones cannot be started
  try {
    for (std::int64_t i = 0; i < setting.threads; ++i) {
      threads.emplace_back([this, i, generation = generations] { work(i, generation); });
    }
  } catch (const std::system_error& error) {
    throw Error(fmt::format("thread {} of {} cannot be started: {}", threads.size() + 1, setting.threads,
                            error.code().message()),
                "the loader", "a smaller data.workers", Exit::failed);
  }
}

/// Until the first batch of the window is filled, or failed.
void ReadAhead::State::wait_for_first(std::unique_lock<std::mutex>& lock) {
  const auto is_there = [this] { return !window.empty() && window.front()->done; };
  const auto is_settled = [&] { return stopping.stop_requested() || is_there() || broken; };
  while (!is_settled()) {
    const bool out = all_slots_are_out();
    const std::int64_t due_us = out ? steady_us() + setting.patience_ms * 1000 : kNever_us;
    if (wait_until(lock, batch_done, due_us, [&] { return is_settled() || all_slots_are_out() != out; }))
      continue;
    throw Error(
        fmt::format("all {} slots of the ring are held by who waits for the next batch", setting.most_slots),
        "the loader", "give a batch back before the next one is asked for", Exit::failed);
  }
  // After a stop threads leave batches unfinished: none is good any more.
  if (stopping.stop_requested()) throw Error("loading was stopped", "the loader", "", Exit::failed);
  if (!is_there()) std::rethrow_exception(broken);
}

void ReadAhead::State::wait_for(std::vector<std::jthread>& ended) {
  const std::int64_t begin_us = steady_us();
  ended.clear();
  const std::scoped_lock lock(mutex);
  counts.stall_us += steady_us() - begin_us;
}

ReadAhead::ReadAhead(std::shared_ptr<const SlotFiller> filler, const BatchOrder& order,
                     const ReadAheadSetting& setting)
    : state_(std::make_shared<State>(std::move(filler), order, setting)) {}

ReadAhead::~ReadAhead() {
  stop();
  std::vector<std::jthread> threads;
  {
    const std::scoped_lock lock(state_->mutex);
    threads.swap(state_->threads);
  }
  threads.clear();
  std::deque<OpenPtr> window;  // its slots come back, which takes the lock
  const std::scoped_lock lock(state_->mutex);
  window.swap(state_->window);
}

void ReadAhead::stop() noexcept {
  state_->stopping.request_stop();
  const std::scoped_lock lock(state_->mutex);
  state_->work_came.notify_all();
  state_->batch_done.notify_all();
}

FilledSlot ReadAhead::take() {
  State& state = *state_;
  const std::int64_t begin_us = steady_us();
  std::vector<std::jthread> ended;  // waited for without the lock
  OpenPtr taken;
  {
    std::unique_lock lock(state.mutex);
    if (const std::int64_t epoch = state.order.epoch_of(state.asked);
        epoch > state.allowed_epoch || state.threads.empty()) {
      state.allowed_epoch = epoch;
      state.start_threads(ended);
    }
    state.wanted = true;
    if (state.window.empty()) state.work_came.notify_all();  // a new epoch, or a seek
    state.counts.ready = std::count_if(state.window.begin(), state.window.end(),
                                       [](const OpenPtr& open) { return open->done; });
    state.wait_for_first(lock);
    taken = state.window.front();
    state.window.pop_front();
    ++state.asked;
    state.counts.stall_us += steady_us() - begin_us;
  }
  state.call_for_one_batch();  // without the lock, which who wakes would wait for
  if (!ended.empty()) state.wait_for(ended);
  if (taken->failure) std::rethrow_exception(std::exchange(taken->failure, nullptr));
  return std::move(taken->filled);  // the thread that filled it last may hold the rest for a moment longer
}

void ReadAhead::seek(std::int64_t batch) {
  std::deque<OpenPtr> dropped;  // its slots come back, which takes the lock
  const std::scoped_lock lock(state_->mutex);
  dropped.swap(state_->window);
  state_->asked = state_->next = batch;
  state_->wanted = false;
  state_->allowed_epoch = state_->order.epoch_of(batch) - 1;
}

ReadAheadCounts ReadAhead::counts() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->counts;
}

const ReadAheadSetting& ReadAhead::setting() const { return state_->setting; }

}  // namespace isobar
