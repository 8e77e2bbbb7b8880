#pragma once
// Lesson 03: a ring of slots that threads fill field by field, so that several of them work at one batch.
#include <memory>

#include "data/fillers.h"
#include "data/loader.h"
#include "data/worker_loader.h"

namespace isobar {

class RingLoader : public Loader {
 public:
  /// data.workers threads (at least one) fill a ring of loader.slots batches of micro_batch(config) samples;
  /// a slot that is in use by the loop or by an upload counts. On a CPU, and with loader.normalise = "host",
  /// the threads normalise on the way from file to slot, and the batches that `next` gives lie in the slots:
  /// one may be held at a time, or loader.slots of them at most. On a CUDA device slots are page-locked and,
  /// normalised by the device, hold raw fields: then `take` gives them, and `next` is for DevicePrefetch
  /// (data/device_prefetch.h). Errors (exit code 2): no thread, more slots than memory can hold, processors
  /// that are not there.
  RingLoader(const Dataset& dataset, const Sampler& sampler, const Config& config, c10::Device device,
             SpanWriter& spans, Passes passes = Passes::endless);

  std::string text() const override;

  /// False: nothing of an epoch is read before its first batch is asked for.
  bool crosses_epochs() const { return ahead_->setting().crosses_epochs; }
  SlotLayout layout() const { return layout_; }
  c10::Device device() const { return device_; }
  const Dataset& dataset() const { return dataset_; }
  /// Null where nobody wants to know.
  SpanWriter* spans() const { return spans_; }
  /// The next slot as it is; the position is not moved.
  FilledSlot take() { return ahead_->take(); }
  /// Wakes threads that wait in `take`, which then end.
  void stop() noexcept { ahead_->stop(); }

 private:
  LoaderCounts reading_counts() const override;
  Batch load(std::int64_t position) override;
  void move(std::int64_t position) override;

  const Dataset& dataset_;
  c10::Device device_;
  SpanWriter* spans_;
  SlotLayout layout_;
  bool shares_;
  std::unique_ptr<ReadAhead> ahead_;
};

}  // namespace isobar
