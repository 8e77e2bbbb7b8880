#include "device/event_pool.h"

#include "device/load_cuda.h"

namespace isobar {

EventPool::EventPool(c10::Device device) : EventPool(cuda_plugin(), device.index()) {}

EventPool::EventPool(const CudaPlugin& plugin, int device) : plugin_(plugin), device_(device) {}

EventPool::~EventPool() {
  for (CUevent_st* const event : free_) plugin_.destroy_event(event);
}

CUevent_st* EventPool::record() {
  CUevent_st* event = nullptr;
  if (free_.empty()) {
    event = plugin_.create_event();
    free_.reserve(free_.capacity() + 1);  // so that giving it back needs no memory
  } else {
    event = free_.back();
    free_.pop_back();
  }
  plugin_.record_event(event, plugin_.current_stream(device_));
  return event;
}

}  // namespace isobar
