#include "data/loader.h"

#include <ATen/ops/empty.h>

#include <array>
#include <span>

#include "core/clock.h"

namespace isobar {

struct ResidentBatch {
  Batch batch;
};

Batch Batch::to(c10::Device device) const {
  if (resident) {
    Batch& kept = resident->batch;
    kept.input = kept.input.to(device);
    kept.target = kept.target.to(device);
    return {kept.input, kept.target, epoch, ends_epoch, resident};
  }
  const bool beside = device.is_cuda() && input.is_pinned();
  return {input.to(device, beside), target.to(device, beside), epoch, ends_epoch};
}

void Loader::seek(std::int64_t position) {
  position_ = position;
  move(position);
}

Batch Loader::next() {
  const std::int64_t position = position_;
  if (resident_) {
    ++position_;
    const Batch& kept = resident_->batch;
    return {kept.input, kept.target, order_.epoch_of(position), order_.ends_epoch(position), resident_};
  }
  Batch batch = load(position);
  ++position_;
  if (dataset_.is_synthetic()) {
    resident_ = std::make_shared<ResidentBatch>(ResidentBatch{batch});
    batch.resident = resident_;
  }
  return batch;
}

Batch Loader::empty_batch(std::int64_t position) const {
  const std::array<std::int64_t, 4> shape = {batch_size(), dataset_.channels(), dataset_.height(),
                                             dataset_.width()};
  return {at::empty(shape, at::kFloat), at::empty(shape, at::kFloat), order_.epoch_of(position),
          order_.ends_epoch(position)};
}

InlineLoader::InlineLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size)
    : Loader(BatchOrder(sampler, batch_size), dataset) {}

Batch InlineLoader::load(std::int64_t position) {
  const std::int64_t begin_us = steady_us();
  const std::int64_t cpu_us = thread_cpu_us();
  Batch batch = empty_batch(position);
  const std::size_t values = dataset().field_values();
  std::size_t begin = 0;
  for (const std::int64_t sample : order().samples(position)) {
    dataset().read_sample(sample, std::span(batch.input.mutable_data_ptr<float>() + begin, values),
                          std::span(batch.target.mutable_data_ptr<float>() + begin, values));
    begin += values;
  }
  ++counts_.batches;
  counts_.read_bytes += static_cast<std::int64_t>(2 * begin * sizeof(float));
  counts_.cpu_us += thread_cpu_us() - cpu_us;
  counts_.stall_us += steady_us() - begin_us;
  return batch;
}

}  // namespace isobar
