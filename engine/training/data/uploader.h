#pragma once
// The way of a filled slot to a device. An interface, so that the order of things is tested without one.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "data/read_ahead.h"

namespace isobar {

/// A batch on its way to the device.
class Arrival {
 public:
  virtual ~Arrival() = default;

  /// Inputs and targets, [1 + R, B, C, H, W], on the device; nothing is in them before `here`.
  at::Tensor fields;

  /// Whether all of it has arrived and the slot is free. Does not wait; any thread may ask.
  virtual bool here() const = 0;
  /// From now on the batch belongs to the calling thread's current stream: with `waits`, what that stream is
  /// asked for later runs after the arrival. The thread itself does not wait.
  virtual void hand_over(bool waits) = 0;
  /// Once it is here, one after the other: records its spans and returns how many values are not finite.
  virtual std::int64_t settle() = 0;
};

class Uploader {
 public:
  virtual ~Uploader() = default;

  /// Asks for the slot to be brought to the device, and does not wait. When the slot goes back to its ring,
  /// the next thread to fill it waits until it was read. Called by one thread at a time.
  virtual std::shared_ptr<Arrival> start(const FilledSlot& slot) = 0;
  /// Waits until no slot is being read any more. A device that is broken reads none.
  virtual void finish() noexcept = 0;
};

}  // namespace isobar
