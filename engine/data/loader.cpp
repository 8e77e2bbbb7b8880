#include "data/loader.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <array>
#include <span>

#include "core/error.h"

namespace isobar {

Batch Batch::to(c10::Device device) const {
  const bool beside = device.is_cuda() && input.is_pinned();
  return {input.to(device, beside), target.to(device, beside), epoch, ends_epoch};
}

InlineLoader::InlineLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size)
    : dataset_(dataset),
      sampler_(sampler),
      batch_size_(batch_size),
      steps_per_epoch_(sampler.shard_size() / batch_size) {
  if (steps_per_epoch_ < 1) {
    throw Error(fmt::format("a batch of {} is larger than the {} samples there are", batch_size,
                            sampler.shard_size()),
                "train.global_batch", "a smaller batch, or raise data.limit_train and data.limit_valid");
  }
}

void InlineLoader::seek(std::int64_t position) { position_ = position; }

Batch InlineLoader::next() {
  const std::int64_t epoch = position_ / steps_per_epoch_;
  const std::int64_t step = position_ % steps_per_epoch_;
  if (epoch != ordered_epoch_) order_ = sampler_.order(epoch);
  ordered_epoch_ = epoch;
  Batch batch;
  const std::array<std::int64_t, 4> shape = {batch_size_, dataset_.channels(), dataset_.height(),
                                             dataset_.width()};
  batch.input = at::empty(shape, at::kFloat);
  batch.target = at::empty(shape, at::kFloat);
  const std::size_t values = dataset_.field_values();
  for (std::int64_t b = 0; b < batch_size_; ++b) {
    const std::size_t begin = static_cast<std::size_t>(b) * values;
    dataset_.read_sample(order_[static_cast<std::size_t>(step * batch_size_ + b)],
                         std::span(batch.input.mutable_data_ptr<float>() + begin, values),
                         std::span(batch.target.mutable_data_ptr<float>() + begin, values));
  }
  batch.epoch = epoch;
  batch.ends_epoch = step + 1 == steps_per_epoch_;
  ++position_;
  return batch;
}

}  // namespace isobar
