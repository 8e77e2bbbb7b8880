#pragma once
// Slots of reading threads as tensors. Internal to data/.
#include <ATen/core/Tensor.h>

#include "data/fillers.h"
#include "data/loader.h"
#include "device/memory.h"

namespace isobar {

/// Memory for slots that `device` fetches from: page-locked for a CUDA device when `pinned`.
SlotAllocator slot_allocator(c10::Device device, bool pinned);

/// Error (exit code 2) that names both numbers when `slots` of them are more than the memory that is free.
/// `why` says which settings ask for them.
void check_slots(std::int64_t slots, std::size_t slot_bytes, const std::string& why);

/// The memory of a slot as a float32 tensor of `shape`. The slot goes back to its threads when the last
/// tensor on it is gone; where `device` is a CUDA device, not before it has done what its current stream was
/// asked for until then.
at::Tensor slot_tensor(const FilledSlot& slot, at::IntArrayRef shape, c10::Device device);

}  // namespace isobar
