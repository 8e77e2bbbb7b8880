// Lesson 03: prefetch on a second stream. Streams wait for each other by events, and the host for nothing.
// exercise.h says what is given and what is promised; ./isobar check 03_gpu_loader looks at what you wrote.
#include <deque>
#include <optional>

#include "03_gpu_loader/exercise/exercise.h"

namespace isobar::mine {

using exercise::EventPointer;
using exercise::PrefetchParts;

class Prefetch : public exercise::BatchPrefetch {
 public:
  explicit Prefetch(const PrefetchParts& parts) : parts_(parts) {
    // BEGIN Ask for uploads into all buffers.
    for (const std::span<std::byte> buffer : parts_.buffers) upload(buffer, nullptr);
    // END
  }

  ~Prefetch() override {
    // BEGIN Copies may still be on their way, to the batch that was handed out last as well.
    parts_.uploads->record()->wait_on_host();
    // END
  }

  std::span<const std::byte> next() override {
    // BEGIN The buffer that was handed out before is free. Then: the oldest batch, behind its arrival.
    //> return {};
    if (in_use_) upload(*in_use_, parts_.computes->record());
    in_use_.reset();
    if (coming_.empty()) return {};
    const Coming batch = coming_.front();
    coming_.pop_front();
    parts_.computes->wait(batch.arrived);
    in_use_ = batch.buffer;
    return batch.buffer;
    // END
  }

 private:
  struct Coming {
    std::span<std::byte> buffer;
    EventPointer arrived;
  };

  /// The next batch of the ring into `buffer`; null `used` for one that nobody used yet.
  void upload(std::span<std::byte> buffer, const EventPointer& used) {
    // BEGIN Take a slot, wait where it must be waited, copy, and give the slot back.
    const std::span<const std::byte> slot = parts_.ring->take();
    if (slot.empty()) return;
    if (used) parts_.uploads->wait(used);
    parts_.uploads->copy(slot, buffer);
    const EventPointer arrived = parts_.uploads->record();
    parts_.ring->give_back(slot, arrived);
    coming_.push_back({buffer, arrived});
    // END
  }

  const PrefetchParts& parts_;
  std::deque<Coming> coming_;                   ///< asked for and not handed out, oldest first
  std::optional<std::span<std::byte>> in_use_;  ///< what was handed out last
};

std::unique_ptr<exercise::BatchPrefetch> make_prefetch(const PrefetchParts& parts) {
  return std::make_unique<Prefetch>(parts);
}

}  // namespace isobar::mine
