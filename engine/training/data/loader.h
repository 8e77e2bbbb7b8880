#pragma once
// From samples to batches of tensors: what every loader promises, and the plainest one.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/read_ahead.h"
#include "samples/batch_order.h"

namespace isobar {

/// The one batch of data.source = synthetic, which stays on the device that it was brought to.
struct ResidentBatch;

struct Batch {
  at::Tensor input;                              ///< [B, C, H, W] float32, normalised
  at::Tensor target;                             ///< [B, C, H, W] float32, normalised: the first
  std::int64_t epoch = 0;                        ///< epoch it belongs to, from 0
  bool ends_epoch = false;                       ///< the last batch of that epoch
  std::shared_ptr<ResidentBatch> resident = {};  ///< set for a batch that comes again and again
  at::Tensor later = {};  ///< [R - 1, B, C, H, W] targets of later forecasts of a rollout (train.rollout = R)
  std::vector<std::int64_t> samples = {};  ///< [B] their numbers in the data set

  std::int64_t size() const { return input.size(0); }
  /// This batch on `device`; itself when it is there already. From page-locked memory to a CUDA device
  /// the copy runs beside the host on the current stream, and this batch must stay as it is until that stream
  /// has done it. A resident batch is brought there once.
  Batch to(c10::Device device) const;
};

/// What a loader did so far.
struct LoaderCounts {
  std::int64_t batches = 0;     ///< handed out
  std::int64_t stall_us = 0;    ///< time that `next` kept its caller waiting
  std::int64_t read_bytes = 0;  ///< taken from the source; a field that is shared counts once
  std::int64_t cpu_us = 0;      ///< processor time of the threads that read
  std::int64_t ready = 0;       ///< batches that lay ready when the last one was asked for
  std::int64_t slots = 0;       ///< most batches that can lie ready; 0 = nothing is read ahead
};

/// Hands out the batches of a sampler's order, epoch after epoch. Batches of all loaders are the same, bit
/// for bit, whatever their number of threads.
class Loader {
 public:
  Loader(const BatchOrder& order, const Dataset& dataset)
      : order_(order), repeats_first_(dataset.is_synthetic()) {}
  virtual ~Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t steps_per_epoch() const { return order_.steps_per_epoch(); }
  std::int64_t batch_size() const { return order_.batch_size(); }
  const BatchOrder& order() const { return order_; }

  /// Batches handed out so far, over all epochs.
  std::int64_t position() const { return position_; }
  /// Goes on as if `position` batches had been handed out.
  void seek(std::int64_t position);

  /// The next batch; after the last one of an epoch the next epoch begins, without end. An error while it was
  /// read is thrown here, after the good batches before it; asked again, it is read again. With data.source =
  /// synthetic the first batch comes again and again, without a wait.
  Batch next();

  LoaderCounts counts() const;

  /// Who reads, how far ahead, and what a reader should know of it, for the head of a run.
  virtual std::string text() const = 0;

 protected:
  /// The batch at `position`, which is where the one before ended, or where `move` went.
  virtual Batch load(std::int64_t position) = 0;
  virtual void move(std::int64_t /*position*/) {}
  /// All but `batches` and `stall_us`.
  virtual LoaderCounts reading_counts() const = 0;

  /// The batch at `position` as it lies in `fields`, [1 + R, B, C, H, W]: inputs, then targets of each lead.
  Batch as_batch(std::int64_t position, const at::Tensor& fields) const;

 private:
  Batch next_or_resident();
  Batch load_or_stay(std::int64_t position);

  BatchOrder order_;
  std::int64_t position_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t stall_us_ = 0;
  bool repeats_first_;  ///< data.source = synthetic
  std::shared_ptr<ResidentBatch> resident_;
};

/// Reads each batch when it is asked for, in the calling thread: nothing is computed meanwhile.
class InlineLoader : public Loader {
 public:
  /// An incomplete last batch of an epoch is dropped. A batch larger than the shard is an Error (exit code
  /// 2).
  InlineLoader(const Dataset& dataset, const Sampler& sampler, std::int64_t batch_size);

  std::string text() const override;

 private:
  LoaderCounts reading_counts() const override { return counts_; }
  Batch load(std::int64_t position) override;

  const Dataset& dataset_;
  std::shared_ptr<const SlotFiller> filler_;
  LoaderCounts counts_;
};

/// The next `count` batches of `loader` as one, of the last one's epoch: what a pipeline cuts again. Each is
/// copied as it comes, so that no more than one lies in a slot.
Batch next_batches(Loader& loader, std::int64_t count);

/// What a learner should know of files that are slow to read; "" for others.
std::string slow_files_text(const Dataset& dataset);

/// The shape of a batch: [1 + R, B, C, H, W], inputs, then targets of each lead.
std::array<std::int64_t, 5> batch_shape(const Dataset& dataset, std::int64_t batch_size);

}  // namespace isobar
