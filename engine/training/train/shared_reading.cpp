#include "train/shared_reading.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "device/memory_ledger.h"

namespace isobar {
namespace {

/// [1 + R, B, C, H / g, W], in one piece for one message.
at::Tensor in_one_piece(const Batch& batch) {
  std::vector<at::Tensor> parts = {batch.input, batch.target};
  for (std::int64_t n = 0; batch.later.defined() && n < batch.later.size(0); ++n)
    parts.push_back(batch.later.select(0, n));
  return at::stack(parts);
}

}  // namespace

SharedReading::SharedReading(Loader& own, const Dataset& band, Comm& readers, c10::Device device)
    : Loader(own.order(), band), own_(own), readers_(readers), device_(device) {
  const FieldShape& shape = band.shape();
  const std::int64_t rows = shape.whole().height;
  if (shape.height * readers.size() == rows && shape.first_row == shape.height * readers.rank()) return;
  throw Error(fmt::format("rank {} of {} that read together has {} of {} rows, from row {} on",
                          readers.rank(), readers.size(), shape.height, rows, shape.first_row),
              "data.read_group", "the band of this rank: LatitudeBand{readers.rank(), readers.size()}",
              Exit::failed);
}

std::string SharedReading::text() const {
  if (readers_.size() == 1) return own_.text();
  return fmt::format("{}; {} read together, 1/{} of the latitudes each", own_.text(),
                     counted(readers_.size(), "rank"), readers_.size());
}

SyncFigures SharedReading::take_figures() { return std::exchange(figures_, {}); }

Batch SharedReading::load(std::int64_t position) {
  Batch band = own_.next().to(device_);
  if (readers_.size() == 1) return band;
  const MemoryScope scope(MemoryCategory::batches);
  const at::Tensor all = gathered(in_one_piece(band));
  band = {};  // no longer needed, before whole fields are made of all bands
  return as_batch(position, all.permute({1, 2, 3, 0, 4, 5}).flatten(3, 4));
}

at::Tensor SharedReading::gathered(const at::Tensor& band) {
  const std::int64_t bands = readers_.size();
  std::vector<std::int64_t> shape = band.sizes().vec();
  shape.insert(shape.begin(), bands);
  const at::Tensor all = at::empty(shape, band.options());
  const CommCounts before = readers_.counts();
  const CollectiveTimes times = readers_.all_gather(all.flatten(0, 1), band, "bands").wait();
  const CommCounts after = readers_.counts();
  SyncFigures sent{.total_us = times.end_us == 0 ? -1 : times.end_us - times.begin_us,
                   .calls = after.calls - before.calls,
                   .wire_bytes = after.wire_bytes - before.wire_bytes};
  sent.read_calls = sent.calls;
  sent.read_wire_bytes = sent.wire_bytes;
  figures_ += sent;
  return all;
}

void SharedReading::move(std::int64_t position) { own_.seek(position); }

LoaderCounts SharedReading::reading_counts() const { return own_.counts(); }

}  // namespace isobar
