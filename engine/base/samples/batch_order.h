#pragma once
// Which samples make up batch number n, counted over all epochs.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "samples/sampler.h"

namespace isobar {

class BatchOrder {
 public:
  /// An incomplete last batch of an epoch is dropped, and so are batches too few for a step of
  /// `batches_per_step` (train.accumulate). A step larger than the shard is an Error (exit code 2).
  BatchOrder(const Sampler& sampler, std::int64_t batch_size, std::int64_t batches_per_step = 1);
  BatchOrder(const BatchOrder& other);
  BatchOrder& operator=(const BatchOrder&) = delete;

  std::int64_t batch_size() const { return batch_size_; }
  /// Batches of an epoch.
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t epoch_of(std::int64_t batch) const { return batch / steps_per_epoch_; }
  bool ends_epoch(std::int64_t batch) const { return (batch + 1) % steps_per_epoch_ == 0; }

  /// Each of `workers` walks through the whole order by itself.
  void repeat_for(std::int64_t workers) { repeats_ = workers; }

  /// Sample indices of batch `batch` (from 0). Any thread may ask; the orders of two epochs are kept.
  std::vector<std::int64_t> samples(std::int64_t batch) const;

 private:
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;
  Order order(std::int64_t epoch) const;

  Sampler sampler_;
  std::int64_t batch_size_;
  std::int64_t steps_per_epoch_;
  std::int64_t repeats_ = 1;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Order> orders_;
};

}  // namespace isobar
