#pragma once
// Lesson 02: threads that read whole batches ahead of the loop.
#include <memory>

#include "data/loader.h"

namespace isobar {

/// How often a loader's order is walked through.
enum class Passes {
  endless,  ///< epoch after epoch, as in training
  single    ///< once, and again after `seek`, as in validation: nothing is read ahead of the first batch
};

class WorkerLoader : public Loader {
 public:
  /// data.workers threads fill batches of train.global_batch samples, each a whole one; up to data.workers x
  /// data.prefetch are filled or in work ahead of the loop. No workers: the calling thread reads, as in
  /// lesson 01. On a CUDA `device` batches lie in page-locked memory (data.pin_memory), so that Batch::to
  /// runs beside the host. `spans` outlives it. Errors (exit code 2): more batches than memory can hold,
  /// processors that are not there.
  WorkerLoader(const Dataset& dataset, const Sampler& sampler, const Config& config, c10::Device device,
               SpanWriter& spans, Passes passes = Passes::endless);

  std::string text() const override;

 private:
  LoaderCounts reading_counts() const override;
  Batch load(std::int64_t position) override;
  void move(std::int64_t position) override;

  const Dataset& dataset_;
  c10::Device device_;
  std::unique_ptr<InlineLoader> inline_;  ///< without workers
  ReadAheadSetting setting_;
  std::unique_ptr<SlotQueue> ahead_;
};

}  // namespace isobar
