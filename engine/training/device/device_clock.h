#pragma once
// The clock of a CUDA device on the host's: events know only how far they are from one another, and a
// timeline has both clocks in one picture.
#include <cstdint>

#include "device/event_pool.h"

namespace isobar {

class DeviceClock {
 public:
  /// Records reference events on the current stream and waits for them: the device is idle afterwards.
  /// `events` outlives this.
  explicit DeviceClock(EventPool& events);
  ~DeviceClock();
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// When the device passed `event`, which it did: microseconds on the host's steady clock, to `error_us`.
  /// Far from the reference the two clocks drift apart, by some millionths of the time since then.
  std::int64_t host_us(CUevent_st* event) const;

  /// How far host and device may be apart at the reference.
  std::int64_t error_us() const { return error_us_; }

 private:
  EventPool& events_;
  CUevent_st* reference_ = nullptr;
  std::int64_t reference_us_ = 0;
  std::int64_t error_us_ = 0;
};

}  // namespace isobar
