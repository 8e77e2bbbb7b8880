#pragma once
// Slots of reading threads as tensors. Internal to data/.
#include <ATen/core/Tensor.h>

#include "core/memory.h"
#include "data/fillers.h"
#include "data/loader.h"
#include "device/memory.h"

namespace isobar {

/// Memory for slots that `device` fetches from: page-locked for a CUDA device when `pinned`. What it gives
/// was promised by `promise`.
SlotAllocator slot_allocator(c10::Device device, bool pinned, std::shared_ptr<MemoryPromise> promise);

/// Promises memory for `slots` of them. Error (exit code 2) that names both numbers when they are more than
/// is free and not promised to another loader, whose slots are not made yet. `why` names the settings that
/// ask for them.
void check_slots(std::int64_t slots, std::size_t slot_bytes, const std::string& why, MemoryPromise& promise);

/// The memory of a slot as a float32 tensor of `shape`. The slot goes back to its threads when the last
/// tensor on it is gone; where `device` is a CUDA device, not before it has done what its current stream was
/// asked for until then.
at::Tensor slot_tensor(const FilledSlot& slot, at::IntArrayRef shape, c10::Device device);

}  // namespace isobar
