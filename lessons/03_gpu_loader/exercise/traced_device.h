#pragma once
// A device that writes down what is ordered behind what, by vector clocks: a mistake is found whether or not
// it would have shown this time. It copies at once, so that contents are right where the order may be wrong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "03_gpu_loader/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

/// Who does something. Each does one thing after the other.
enum class Actor : unsigned char { host, uploads, computes, reader };

/// How much each of them had done.
using Past = std::array<int, 4>;

inline void join(Past& past, const Past& other) {
  for (std::size_t i = 0; i < past.size(); ++i) past[i] = std::max(past[i], other[i]);
}

enum class DeedKind : unsigned char { fill, upload, kernel, end };

/// Something that reads or writes memory.
struct Deed {
  DeedKind kind;
  Actor by;
  std::int64_t batch = 0;
  Past past{};  ///< with itself

  bool is_behind(const Deed& other) const { return past[index(other.by)] >= other.past[index(other.by)]; }
  static constexpr std::size_t index(Actor actor) { return static_cast<std::size_t>(actor); }
};

/// Two deeds at one memory, one of which writes, in no order.
struct Conflict {
  Deed first, then;
};

class TracedDevice {
 public:
  TracedDevice(std::int64_t batches, std::size_t slots, std::size_t buffers)
      : batches_(batches),
        uploads_(*this, Actor::uploads),
        computes_(*this, Actor::computes),
        ring_(*this),
        slots_(slots),
        buffers_(buffers) {
    for (auto& slot : slots_) free_.push_back({&slot, Past{}});
    parts_ = {.ring = &ring_, .uploads = &uploads_, .computes = &computes_, .buffers = {}};
    for (auto& buffer : buffers_) parts_.buffers.push_back(std::as_writable_bytes(std::span(&buffer, 1)));
  }
  TracedDevice(const TracedDevice&) = delete;
  TracedDevice& operator=(const TracedDevice&) = delete;

  const PrefetchParts& parts() const { return parts_; }

  /// What a loop does with a batch of `next`: asks `computes` for a kernel that reads it.
  void compute(std::span<const std::byte> batch) {
    const std::scoped_lock lock(mutex_);
    kernels_.push_back(begin(DeedKind::kernel, Actor::computes, number_in(batch)));
    touch(batch.data(), kernels_.back(), /*writes=*/false);
  }
  /// The memory goes, once the kernels are done.
  void end() {
    const std::scoped_lock lock(mutex_);
    for (const Deed& kernel : kernels_) join(past(Actor::host), kernel.past);
    join(past(Actor::host), past(Actor::reader));
    const Deed end = begin(DeedKind::end, Actor::host, 0);
    for (const auto& memory : touched_) conflict(memory.second, end, /*writes=*/true);
  }

  const std::vector<Deed>& uploads() const { return uploaded_; }
  const std::vector<Deed>& kernels() const { return kernels_; }
  const std::vector<Conflict>& conflicts() const { return conflicts_; }
  /// For whose events the host was held up.
  const std::vector<Actor>& host_waits() const { return host_waits_; }

  static std::int64_t number_in(std::span<const std::byte> memory) {
    std::int64_t number = -1;
    if (memory.size() == sizeof number) std::memcpy(&number, memory.data(), sizeof number);
    return number;
  }

 private:
  struct Event final : DeviceEvent {
    Event(TracedDevice& on, Actor by, const Past& before) : device(on), actor(by), past(before) {}
    void wait_on_host() const override {
      const std::scoped_lock lock(device.mutex_);
      device.host_waits_.push_back(actor);
      join(device.past(Actor::host), past);
    }
    TracedDevice& device;
    Actor actor;
    Past past;
  };

  struct Stream final : DeviceStream {
    Stream(TracedDevice& on, Actor by) : device(on), actor(by) {}
    void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
      device.copy(actor, from, to);
    }
    EventPointer record() override {
      const std::scoped_lock lock(device.mutex_);
      device.step(actor);
      return std::make_shared<Event>(device, actor, device.past(actor));
    }
    void wait(const EventPointer& event) override {
      const Past& before = past_of(event, "wait()");
      const std::scoped_lock lock(device.mutex_);
      device.step(actor);
      join(device.past(actor), before);
    }
    TracedDevice& device;
    Actor actor;
  };

  struct Ring final : SlotRing {
    explicit Ring(TracedDevice& on) : device(on) {}
    std::span<const std::byte> take() override { return device.take(); }
    void give_back(std::span<const std::byte> slot, const EventPointer& read) override {
      device.give_back(slot, past_of(read, "give_back()"));
    }
    TracedDevice& device;
  };

  struct FreeSlot {
    std::int64_t* memory;
    Past read;
  };
  struct Touch {
    Deed deed;
    bool writes;
  };

  static const Past& past_of(const EventPointer& event, const char* function) {
    const auto* const traced = dynamic_cast<const Event*>(event.get());
    expect(traced != nullptr,
           {fmt::format("an event in {}", function), "null", "where that event is recorded"});
    return traced->past;
  }

  Past& past(Actor actor) { return past_[Deed::index(actor)]; }
  /// The actor is asked for something by the host.
  void step(Actor actor) {
    if (actor != Actor::reader) join(past(actor), past(Actor::host));
    ++past(actor)[Deed::index(actor)];
  }
  Deed begin(DeedKind kind, Actor actor, std::int64_t batch) {
    step(actor);
    return {kind, actor, batch, past(actor)};
  }
  void touch(const std::byte* memory, const Deed& deed, bool writes) {
    conflict(touched_[memory], deed, writes);
    touched_[memory].push_back({deed, writes});
  }
  void conflict(const std::vector<Touch>& before, const Deed& deed, bool writes) {
    for (const Touch& other : before)
      if ((other.writes || writes) && !deed.is_behind(other.deed)) conflicts_.push_back({other.deed, deed});
  }

  void copy(Actor actor, std::span<const std::byte> from, std::span<std::byte> to) {
    const std::scoped_lock lock(mutex_);
    expect(!from.empty(), {"no copy where take() gave an empty slot", "a copy of 0 bytes",
                           "what upload() does behind the last batch"});
    expect(from.size() == sizeof(std::int64_t) && to.size() == from.size(),
           {"a copy of a whole slot into a whole buffer",
            fmt::format("one of {} bytes into {}", from.size(), to.size()), "what copy() is given"});
    uploaded_.push_back(begin(DeedKind::upload, actor, number_in(from)));
    touch(from.data(), uploaded_.back(), /*writes=*/false);
    touch(to.data(), uploaded_.back(), /*writes=*/true);
    std::memcpy(to.data(), from.data(), from.size());
  }

  std::span<const std::byte> take() {
    const std::scoped_lock lock(mutex_);
    if (filled_ == batches_) return {};
    expect(!free_.empty(), {fmt::format("a slot to be given back before batch {} is taken", filled_),
                            fmt::format("none, and there are {}: take() would wait for ever", slots_.size()),
                            "give_back(), for each slot that was taken"});
    const FreeSlot slot = free_.front();
    free_.pop_front();
    join(past(Actor::reader), slot.read);
    const Deed fill = begin(DeedKind::fill, Actor::reader, filled_);
    const std::span<std::byte> memory = std::as_writable_bytes(std::span(slot.memory, 1));
    touch(memory.data(), fill, /*writes=*/true);
    *slot.memory = filled_++;
    join(past(Actor::host), past(Actor::reader));
    return memory;
  }

  void give_back(std::span<const std::byte> slot, const Past& read) {
    const std::scoped_lock lock(mutex_);
    const auto own = std::find_if(slots_.begin(), slots_.end(), [&](const std::int64_t& memory) {
      return reinterpret_cast<const std::byte*>(&memory) == slot.data();
    });
    expect(own != slots_.end(), {"a slot that take() gave in give_back()", "other memory",
                                 "what goes back to the ring: the slot, not the buffer"});
    FreeSlot given{&*own, past(Actor::host)};
    join(given.read, read);
    free_.push_back(given);
  }

  std::int64_t batches_;
  Stream uploads_, computes_;
  Ring ring_;
  PrefetchParts parts_;
  std::mutex mutex_;  ///< guards all below
  std::vector<std::int64_t> slots_, buffers_;
  std::deque<FreeSlot> free_;
  std::int64_t filled_ = 0;
  std::array<Past, 4> past_{};
  std::map<const std::byte*, std::vector<Touch>> touched_;
  std::vector<Deed> uploaded_, kernels_;
  std::vector<Conflict> conflicts_;
  std::vector<Actor> host_waits_;
};

}  // namespace isobar::exercise
