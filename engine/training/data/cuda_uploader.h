#pragma once
// Slots to a CUDA device: one copy, and one kernel that makes a batch of it.
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "data/dataset.h"
#include "data/fillers.h"
#include "data/uploader.h"
#include "record/span_writer.h"

namespace isobar {

/// Between two looks at an event: waiting for it would spin.
inline constexpr std::int64_t kEventPause_us = 50;

/// For batches of `batch_size` samples of `dataset`, which lie in their slots in this `layout`. Works on
/// `stream`; without one on the stream that is current for the caller of `start`. Spans go to the track
/// "upload", on the clock of the host; `spans` may be null and outlives the uploader.
std::unique_ptr<Uploader> make_cuda_uploader(const Dataset& dataset, std::int64_t batch_size,
                                             SlotLayout layout, c10::Device device,
                                             std::optional<c10::Stream> stream, SpanWriter* spans);

}  // namespace isobar
