#pragma once
// What is given and what is promised in the exercise of lesson 03. You write my/03_prefetch.cpp.
//
// A device works by itself: whoever asks it for something goes on at once. What a stream of it is asked for
// is done in order; what two streams are asked for has no order, unless one of them waits for an event of the
// other. On a CPU each stream is a thread.
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace isobar::exercise {

/// Given: a place in the work of a stream. It has happened when all that was asked for before it is done.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  /// Holds up the thread that calls it, until the event has happened.
  virtual void wait_on_host() const = 0;
};

using EventPointer = std::shared_ptr<const DeviceEvent>;

/// Given: a queue of work. Its functions return at once.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  /// Both are in use until it is done.
  virtual void copy(std::span<const std::byte> from, std::span<std::byte> to) = 0;
  /// An event at this place: behind what was asked for so far.
  virtual EventPointer record() = 0;
  /// What the stream is asked for from now on is done behind `event`.
  virtual void wait(const EventPointer& event) = 0;
};

/// Given: threads that fill slots with batches, in order.
class SlotRing {
 public:
  virtual ~SlotRing() = default;
  /// The slot with the next batch; waits until it is filled. Empty behind the last one.
  virtual std::span<const std::byte> take() = 0;
  /// The slot is filled anew as soon as `read` has happened. There may be fewer slots than buffers.
  virtual void give_back(std::span<const std::byte> slot, const EventPointer& read) = 0;
};

struct PrefetchParts {
  SlotRing* ring = nullptr;
  DeviceStream* uploads = nullptr;            ///< for copies from slots to buffers
  DeviceStream* computes = nullptr;           ///< on which batches are used
  std::vector<std::span<std::byte>> buffers;  ///< on the device, one at least, for a batch each
};

/// Brings batches to the device before they are asked for.
class BatchPrefetch {
 public:
  /// Waits until nothing is copied any more: the memory of slots and buffers may go.
  virtual ~BatchPrefetch() = default;
  /// The next batch, in its buffer. What `computes` is asked for from now on is done when the batch has
  /// arrived; the host does not wait for that. With the next call the buffer is free again, for what comes
  /// behind all that `computes` was asked for until then. Empty behind the last batch.
  virtual std::span<const std::byte> next() = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: uploads into all buffers are asked for at once, and into each that becomes free in the same call
/// of `next`. No batch and no upload waits for anything but what it needs. A slot is given back as soon as
/// its upload was asked for. `parts` outlives it, as all it points to.
std::unique_ptr<exercise::BatchPrefetch> make_prefetch(const exercise::PrefetchParts& parts);

}  // namespace isobar::mine
