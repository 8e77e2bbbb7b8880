#include "samples/batch_order.h"

#include <fmt/format.h>

#include "core/error.h"

namespace isobar {

BatchOrder::BatchOrder(const Sampler& sampler, std::int64_t batch_size, std::int64_t batches_per_step)
    : sampler_(sampler),
      batch_size_(batch_size),
      steps_per_epoch_(sampler.shard_size() / (batch_size * batches_per_step) * batches_per_step) {
  if (steps_per_epoch_ >= 1) return;
  throw Error(
      fmt::format("a batch of {} is larger than the {} samples there are", batch_size * batches_per_step,
                  sampler.shard_size()),
      "train.global_batch",
      "a smaller batch, or more samples: data.limit_train, data.limit_valid, in lesson 00 data.samples");
}

BatchOrder::BatchOrder(const BatchOrder& other)
    : sampler_(other.sampler_),
      batch_size_(other.batch_size_),
      steps_per_epoch_(other.steps_per_epoch_),
      repeats_(other.repeats_) {}

BatchOrder::Order BatchOrder::order(std::int64_t epoch) const {
  const std::scoped_lock lock(mutex_);
  Order& found = orders_[epoch];
  if (!found) found = std::make_shared<const std::vector<std::int64_t>>(sampler_.order(epoch));
  const Order out = found;
  // Readers ahead of the loop meet two epochs at once, never three.
  while (orders_.size() > 2) {
    orders_.erase(orders_.begin()->first == epoch ? std::prev(orders_.end()) : orders_.begin());
  }
  return out;
}

std::vector<std::int64_t> BatchOrder::samples(std::int64_t batch) const {
  const Order all = order(epoch_of(batch));
  const auto first = all->begin() + batch % steps_per_epoch_ / repeats_ * batch_size_;
  return {first, first + batch_size_};
}

}  // namespace isobar
