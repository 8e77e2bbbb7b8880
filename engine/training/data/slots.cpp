#include "data/slots.h"

#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "device/load_cuda.h"
#include "device/memory_ledger.h"
#include "device/stream.h"

namespace isobar {
namespace {

/// Somebody uses the slot for as long as this lives.
class SlotUse {
 public:
  SlotUse(FilledSlot slot, c10::Device device) : slot_(std::move(slot)), device_(device) {}
  SlotUse(const SlotUse&) = delete;
  SlotUse& operator=(const SlotUse&) = delete;
  ~SlotUse() {
    if (!has_streams(device_)) return;
    try {
      wait_for_device();
    } catch (...) {
      // It is not known when the device is done: the thread that is to fill the slot gets this error.
      slot_.set_before_reuse([error = std::current_exception()] { std::rethrow_exception(error); });
    }
  }

 private:
  /// Copies out of the slot that are still on their way were all asked for on this stream.
  void wait_for_device() {
    const CudaPlugin& plugin = cuda_plugin();
    const c10::DeviceGuard guard(device_);  // an event is of the device that is current when it is made
    const std::shared_ptr<CUevent_st> event(plugin.create_event(),
                                            [&plugin](CUevent_st* made) { plugin.destroy_event(made); });
    plugin.record_event(event.get(), plugin.current_stream(device_.index()));
    slot_.set_before_reuse([&plugin, event] { plugin.wait_for_event(event.get()); });
  }

  FilledSlot slot_;
  c10::Device device_;
};

}  // namespace

SlotAllocator slot_allocator(c10::Device device, bool pinned, std::shared_ptr<MemoryPromise> promise) {
  const c10::Device fetches = pinned ? device : c10::Device(c10::kCPU);
  return [fetches, promise = std::move(promise)](std::size_t bytes) {
    struct Slot {
      HostBuffer buffer;
      HeldMemory held;
    };
    const auto slot = std::shared_ptr<Slot>(new Slot{{bytes, fetches}, {MemoryCategory::batches, bytes}});
    promise->take(bytes);
    return SlotMemory(slot, slot->buffer.bytes().data());
  };
}

void check_slots(std::int64_t slots, std::size_t slot_bytes, const std::string& why, MemoryPromise& promise) {
  const MemoryState memory = memory_state();
  const std::uint64_t wanted = static_cast<std::uint64_t>(slots) * slot_bytes;
  if (memory.total_bytes == 0 || wanted <= unpromised_bytes(memory)) return promise.add(wanted);
  throw Error(fmt::format("{} batches of {} in memory take {}, and {} of {} are free{}", slots,
                          human_bytes(slot_bytes), human_bytes(wanted), human_bytes(memory.available_bytes),
                          human_bytes(memory.total_bytes),
                          promised_bytes() == 0
                              ? ""
                              : fmt::format(", {} of them for training and loaders before it",
                                            human_bytes(std::min(promised_bytes(), memory.available_bytes)))),
              why, "fewer batches ahead, or a smaller train.global_batch");
}

at::Tensor slot_tensor(const FilledSlot& slot, at::IntArrayRef shape, c10::Device device) {
  void* const memory = slot.memory.get();
  const auto use = std::make_shared<SlotUse>(slot, device);
  return at::from_blob(
      memory, shape, [use](void*) {}, at::kFloat);
}

}  // namespace isobar
