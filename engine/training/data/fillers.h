#pragma once
// What reading threads put into a slot: whole samples one after the other, or fields that threads share.
#include <functional>
#include <memory>

#include "core/error.h"
#include "data/read_ahead.h"

namespace isobar {

/// How a batch lies in its slot.
enum class SlotLayout {
  ready,  ///< float32 [1 + R, B, C, H, W], normalised: inputs, then targets of each lead
  raw,    ///< float32 [F, C, H, W], the fields of BatchPlan::fields as they are in their files
  f16,    ///< the fields normalised, as IEEE halves (kernels/pack.h)
  i16     ///< the fields normalised, as multiples of 1/2048
};

/// Bytes of a batch, and of its slot in the layouts `ready` and `raw`: (1 + R) B C H W x 4, where H is the
/// rows of a band. The others take half of it.
std::size_t batch_bytes(const Dataset& dataset, std::int64_t batch_size);

/// What went wrong while `sample` was read, with its name.
Error of_sample(const Error& error, std::int64_t sample, std::int64_t batch);

/// Gives memory for one slot of so many bytes; called by the threads that read.
using SlotAllocator = std::function<SlotMemory(std::size_t bytes)>;

/// Layout `ready`. One part a batch: a thread reads all of its samples, each field in one go, and normalises
/// it then. `dataset` outlives it.
std::shared_ptr<const SlotFiller> make_sample_filler(const Dataset& dataset, const BatchOrder& order,
                                                     SlotAllocator allocate);

/// One part a field, so that several threads fill a batch together; with `share` a field that several samples
/// need is read once. `ready` normalises on the way through the processor's cache, f16 and i16 pack what was
/// normalised. `dataset` outlives it.
std::shared_ptr<const SlotFiller> make_field_filler(const Dataset& dataset, const BatchOrder& order,
                                                    bool share, SlotLayout layout, SlotAllocator allocate);

}  // namespace isobar
