#pragma once
// Timed events of one CUDA device, used again and again: making one costs more than recording it.
#include <c10/core/Device.h>

#include <vector>

#include "device/cuda_plugin.h"

namespace isobar {

class EventPool {
 public:
  /// For `device`, a CUDA device that choose_device gave.
  explicit EventPool(c10::Device device);
  EventPool(const CudaPlugin& plugin, int device);
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// An event behind all that is on the current stream of this thread. Give it back when it was read.
  CUevent_st* record();
  void give_back(CUevent_st* event) { free_.push_back(event); }

  bool passed(CUevent_st* event) const { return plugin_.event_passed(event); }
  void wait_for(CUevent_st* event) const { plugin_.wait_for_event(event); }
  /// Microseconds on the device's clock between two events that were passed.
  double elapsed_us(CUevent_st* begin, CUevent_st* end) const { return plugin_.elapsed_us(begin, end); }

 private:
  const CudaPlugin& plugin_;
  int device_;
  std::vector<CUevent_st*> free_;
};

}  // namespace isobar
