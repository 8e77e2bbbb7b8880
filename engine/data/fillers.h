#pragma once
// What reading threads put into a slot: whole samples one after the other, or fields that threads share.
#include <functional>
#include <memory>

#include "data/read_ahead.h"

namespace isobar {

/// How a batch lies in its slot.
enum class SlotLayout {
  ready,  ///< float32 [2, B, C, H, W], normalised: inputs, then targets
  raw     ///< float32 [F, C, H, W], the fields of BatchPlan::fields as they are in their files
};

/// Gives memory for one slot of so many bytes; called by the threads that read.
using SlotAllocator = std::function<SlotMemory(std::size_t bytes)>;

/// Layout `ready`. One part a batch: a thread reads all of its samples, each field in one go, and normalises
/// it then. `dataset` outlives it.
std::shared_ptr<const SlotFiller> make_sample_filler(const Dataset& dataset, const BatchOrder& order,
                                                     SlotAllocator allocate);

/// One part a field, so that several threads fill a batch together; with `share` a field that several samples
/// need is read once. `ready` normalises on the way through the processor's cache. `dataset` outlives it.
std::shared_ptr<const SlotFiller> make_field_filler(const Dataset& dataset, const BatchOrder& order,
                                                    bool share, SlotLayout layout, SlotAllocator allocate);

}  // namespace isobar
