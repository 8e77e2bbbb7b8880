#pragma once
// A filler of slots that is slow, fails where it is told to, and keeps an eye on those who call it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/random.h"
#include "core/waiting.h"
#include "data/read_ahead.h"

namespace isobar {

class FakeFiller : public SlotFiller {
 public:
  explicit FakeFiller(std::int64_t parts = 1) : parts_(parts) {}

  // ---- what it is told, before the threads start
  std::int64_t most_delay_us = 0;             ///< of a part: drawn for each
  std::atomic<std::int64_t> hold_ms = 0;      ///< of a part, unless it is asked to stop
  std::set<std::int64_t> failing = {};        ///< batches of which one part throws
  std::set<std::int64_t> failing_plans = {};  ///< batches that cannot be planned
  std::function<void()> throws = [] { throw Error("made to fail", "here", "", Exit::failed); };
  mutable std::atomic<bool> no_memory = false;

  // ---- what it saw
  mutable std::atomic<std::int64_t> highest = -1;  ///< batch that was ever planned
  mutable std::atomic<int> filling = 0;
  mutable std::atomic<int> most_filling = 0;
  mutable std::atomic<int> written_while_held = 0;
  /// Threads that have filled a part and have not ended; the system's own list is behind at both ends.
  std::shared_ptr<std::atomic<int>> alive = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> threads =
      std::make_shared<std::atomic<int>>(0);                                        ///< that ever filled one
  std::shared_ptr<std::atomic<int>> slots = std::make_shared<std::atomic<int>>(0);  ///< that are there
  std::shared_ptr<std::atomic<int>> most_slots = std::make_shared<std::atomic<int>>(0);

  void mark_held(const std::byte* slot, bool held) const {
    const std::scoped_lock lock(mutex_);
    if (held) {
      held_.insert(slot);
    } else {
      held_.erase(slot);
    }
  }

  std::size_t slot_bytes() const override { return static_cast<std::size_t>(parts_) * sizeof(std::int64_t); }
  SlotMemory allocate() const override {
    if (no_memory) throw std::bad_alloc();
    raise(*most_slots, ++*slots);
    return {new std::byte[slot_bytes()], [count = slots](const std::byte* memory) {
              delete[] memory;
              --*count;
            }};
  }
  BatchPlan plan(std::int64_t batch) const override {
    std::int64_t before = highest;
    while (before < batch && !highest.compare_exchange_weak(before, batch)) {
    }
    if (failing_plans.count(batch) > 0) throw Error("cannot be planned", "here", "", Exit::failed);
    BatchPlan plan;
    plan.batch = batch;
    return plan;
  }
  std::int64_t parts(const BatchPlan&) const override { return parts_; }
  void fill(const BatchPlan& plan, std::int64_t part, std::span<std::byte> slot, FillCost& cost,
            const std::stop_token& stop) const override {
    const Counted counted(*this);
    static thread_local const Presence presence(*this);
    {
      const std::scoped_lock lock(mutex_);
      if (held_.count(slot.data()) > 0) ++written_while_held;
    }
    const auto delay_us = most_delay_us == 0 ? 0
                                             : below_at(5, static_cast<std::uint64_t>(plan.batch * 64 + part),
                                                        static_cast<std::uint64_t>(most_delay_us));
    if (delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    const std::int64_t held_ms = hold_ms;
    sleep_until_us(steady_us() + held_ms * 1000, stop);
    if (held_ms > 0 && stop.stop_requested()) return;  // half filled
    if (failing.count(plan.batch) > 0 && part == plan.batch % parts_) throws();
    const std::int64_t value = plan.batch * 1000 + part;
    std::memcpy(slot.data() + static_cast<std::size_t>(part) * sizeof(value), &value, sizeof(value));
    cost.read_bytes += 10;
  }

  /// Whether all parts of a slot are those of `batch`.
  bool holds(const FilledSlot& slot, std::int64_t batch) const {
    if (slot.plan.batch != batch || slot.bytes != slot_bytes()) return false;
    for (std::int64_t part = 0; part < parts_; ++part) {
      std::int64_t value = 0;
      std::memcpy(&value, slot.memory.get() + static_cast<std::size_t>(part) * sizeof(value), sizeof(value));
      if (value != batch * 1000 + part) return false;
    }
    return true;
  }

 private:
  struct Counted {
    explicit Counted(const FakeFiller& filler) : of(filler) { raise(of.most_filling, ++of.filling); }
    ~Counted() { --of.filling; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    const FakeFiller& of;
  };
  /// Of a thread, which works for one filler.
  struct Presence {
    explicit Presence(const FakeFiller& filler) : alive(filler.alive) {
      ++*alive;
      ++*filler.threads;
    }
    ~Presence() { --*alive; }
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
    std::shared_ptr<std::atomic<int>> alive;
  };
  static void raise(std::atomic<int>& most, int now) {
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
  }

  std::int64_t parts_;
  mutable std::mutex mutex_;
  mutable std::set<const std::byte*> held_;
};

}  // namespace isobar
