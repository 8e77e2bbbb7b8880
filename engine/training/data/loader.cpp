#include "data/loader.h"

#include <ATen/ops/empty.h>

#include <span>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "data/fillers.h"
#include "device/memory_ledger.h"
#include "device/stream.h"

namespace isobar {

struct ResidentBatch {
  Batch batch;
  std::shared_ptr<ResidentBatch> joined = {};  ///< several of it one behind the other
};

namespace {

/// For `count` of `part`, whose samples are counted along `axis`. Pinned where `part` is: a copy to the
/// device then runs beside the host.
at::Tensor room_for(const at::Tensor& part, std::int64_t count, std::size_t axis) {
  if (!part.defined()) return {};
  std::vector<std::int64_t> shape = part.sizes().vec();
  shape[axis] *= count;
  return at::empty(shape, part.options().pinned_memory(part.is_pinned()));
}

/// Puts `part` into `out`, as its number `i` of that size along `axis`.
void put(const at::Tensor& out, const at::Tensor& part, std::int64_t i, std::int64_t axis) {
  if (part.defined()) out.narrow(axis, i * part.size(axis), part.size(axis)).copy_(part);
}

at::Tensor moved(const at::Tensor& part, c10::Device device, bool beside) {
  return part.defined() ? part.to(device, beside) : part;
}

}  // namespace

Batch Batch::to(c10::Device device) const {
  if (resident) {
    Batch& kept = resident->batch;
    kept.input = kept.input.to(device);
    kept.target = kept.target.to(device);
    kept.later = moved(kept.later, device, /*beside=*/false);
    return {kept.input, kept.target, epoch, ends_epoch, resident, kept.later, samples};
  }
  const bool beside = has_streams(device) && input.is_pinned();
  return {.input = input.to(device, beside),
          .target = target.to(device, beside),
          .epoch = epoch,
          .ends_epoch = ends_epoch,
          .later = moved(later, device, beside),
          .samples = samples};
}

Batch next_batches(Loader& loader, std::int64_t count) {
  Batch part = loader.next();
  if (count == 1) return part;
  const std::shared_ptr<ResidentBatch> resident = part.resident;
  const bool is_there = resident && resident->joined && resident->joined->batch.size() == count * part.size();
  Batch out;
  if (is_there) {
    out = resident->joined->batch;
  } else {
    const MemoryScope scope(MemoryCategory::batches);
    out = {.input = room_for(part.input, count, 0),
           .target = room_for(part.target, count, 0),
           .later = room_for(part.later, count, 1)};
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) part = loader.next();
    if (is_there) continue;
    put(out.input, part.input, i, 0);
    put(out.target, part.target, i, 0);
    put(out.later, part.later, i, 1);
    out.samples.insert(out.samples.end(), part.samples.begin(), part.samples.end());
  }
  if (resident && !is_there) resident->joined = std::make_shared<ResidentBatch>(ResidentBatch{out});
  if (resident) out.resident = resident->joined;
  out.epoch = part.epoch;
  out.ends_epoch = part.ends_epoch;
  return out;
}

void Loader::seek(std::int64_t position) {
  position_ = position;
  move(position);
}

LoaderCounts Loader::counts() const {
  LoaderCounts out = reading_counts();
  out.batches = batches_;
  out.stall_us = stall_us_;
  return out;
}

Batch Loader::next() {
  const std::int64_t begin_us = steady_us();
  const bool is_there = resident_ != nullptr;
  Batch batch = next_or_resident();
  ++batches_;
  if (!is_there) stall_us_ += steady_us() - begin_us;
  return batch;
}

Batch Loader::next_or_resident() {
  const std::int64_t position = position_;
  if (resident_) {
    ++position_;
    const Batch& kept = resident_->batch;
    return {kept.input, kept.target, order_.epoch_of(position), order_.ends_epoch(position), resident_,
            kept.later, kept.samples};
  }
  Batch batch = load_or_stay(position);
  ++position_;
  if (repeats_first_) {
    resident_ = std::make_shared<ResidentBatch>(ResidentBatch{batch});
    batch.resident = resident_;
  }
  return batch;
}

/// After an error this batch is the next one again, whichever thread reads.
Batch Loader::load_or_stay(std::int64_t position) {
  try {
    return load(position);
  } catch (...) {
    move(position);
    throw;
  }
}

Batch Loader::as_batch(std::int64_t position, const at::Tensor& fields) const {
  Batch out = {fields.select(0, 0), fields.select(0, 1), order_.epoch_of(position),
               order_.ends_epoch(position)};
  if (fields.size(0) > 2) out.later = fields.narrow(0, 2, fields.size(0) - 2);
  out.samples = order_.samples(position);
  return out;
}

std::array<std::int64_t, 5> batch_shape(const Dataset& dataset, std::int64_t batch_size) {
  const FieldShape& shape = dataset.shape();
  return {1 + dataset.leads(), batch_size, shape.channels, shape.height, shape.width};
}

std::string slow_files_text(const Dataset& dataset) {
  return dataset.is_compressed()
             ? "; the files are compressed: they are read through the HDF5 library, one field at a "
               "time for each file and much slower"
             : "";
}

InlineLoader::InlineLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size)
    : Loader(BatchOrder(sampler, batch_size), dataset),
      dataset_(dataset),
      filler_(make_sample_filler(dataset, order(), {})) {}

std::string InlineLoader::text() const {
  return "inline: the training loop reads each batch itself" + slow_files_text(dataset_);
}

Batch InlineLoader::load(std::int64_t position) {
  const std::int64_t cpu_us = thread_cpu_us();
  const MemoryScope scope(MemoryCategory::batches);
  const at::Tensor fields = at::empty(batch_shape(dataset_, batch_size()), at::kFloat);
  const std::span<float> values(fields.mutable_data_ptr<float>(), static_cast<std::size_t>(fields.numel()));
  FillCost cost;
  filler_->fill(filler_->plan(position), 0, std::as_writable_bytes(values), cost, {});
  counts_.read_bytes += cost.read_bytes;
  counts_.cpu_us += thread_cpu_us() - cpu_us;
  return as_batch(position, fields);
}

}  // namespace isobar
