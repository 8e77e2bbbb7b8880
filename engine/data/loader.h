#pragma once
// From samples to batches of tensors.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"

namespace isobar {

struct Batch {
  at::Tensor input;         ///< [B, C, H, W] float32, normalised
  at::Tensor target;        ///< [B, C, H, W] float32, normalised
  std::int64_t epoch = 0;   ///< epoch it belongs to, from 0
  bool ends_epoch = false;  ///< the last batch of that epoch

  std::int64_t size() const { return input.size(0); }
  /// The same batch on `device`; itself when it is there already. From page-locked memory to a CUDA device
  /// the copy runs beside the host on the current stream, and this batch must stay as it is until that stream
  /// has done it.
  Batch to(c10::Device device) const;
};

/// Reads each batch when it is asked for, in the calling thread: nothing is computed meanwhile.
class InlineLoader {
 public:
  /// An incomplete last batch of an epoch is dropped. A batch larger than the shard is an Error (exit code
  /// 2).
  InlineLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }

  /// Batches handed out so far, over all epochs.
  std::int64_t position() const { return position_; }
  /// Goes on as if `position` batches had been handed out.
  void seek(std::int64_t position);

  /// The next batch; after the last one of an epoch the next epoch begins, without end.
  Batch next();

 private:
  const Dataset& dataset_;
  Sampler sampler_;
  std::int64_t batch_size_;
  std::int64_t steps_per_epoch_;
  std::int64_t position_ = 0;
  std::int64_t ordered_epoch_ = -1;  ///< the epoch that `order_` is of
  std::vector<std::int64_t> order_;
};

}  // namespace isobar
