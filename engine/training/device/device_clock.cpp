#include "device/device_clock.h"

#include <cmath>

#include "core/clock.h"

namespace isobar {
namespace {

constexpr int kTries = 8;  // the tightest of them counts: a thread may be put aside in the middle of one

}  // namespace

DeviceClock::DeviceClock(EventPool& events) : events_(events) {
  CUevent_st* const before = events_.record();  // behind it the stream is empty, and an event passed at once
  events_.wait_for(before);
  events_.give_back(before);
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t asked_us = steady_us();
    CUevent_st* const event = events_.record();
    events_.wait_for(event);
    const std::int64_t half_us = (steady_us() - asked_us + 1) / 2;
    if (reference_ != nullptr && half_us >= error_us_) {
      events_.give_back(event);
      continue;
    }
    if (reference_ != nullptr) events_.give_back(reference_);
    reference_ = event;
    reference_us_ = asked_us + half_us;
    error_us_ = half_us;
  }
}

DeviceClock::~DeviceClock() { events_.give_back(reference_); }

std::int64_t DeviceClock::host_us(CUevent_st* event) const {
  return reference_us_ + std::llround(events_.elapsed_us(reference_, event));
}

}  // namespace isobar
