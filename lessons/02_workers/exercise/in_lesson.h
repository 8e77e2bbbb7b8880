#pragma once
// Read before main.cpp by ./isobar run 02_workers --mine: its WorkerLoader is this one, on your part.
#include "02_workers/exercise/part.h"
#include "check/own_part.h"
#include "data/fillers.h"
#include "data/slots.h"
#include "data/worker_loader.h"

namespace isobar {

class YourWorkerLoader : public Loader {
 public:
  YourWorkerLoader(const Dataset& dataset, const Sampler& sampler, const Config& config, c10::Device device,
                   SpanWriter& /*spans*/, Passes passes = Passes::endless)
      : Loader(order_of(sampler, config, passes), dataset),
        dataset_(dataset),
        device_(device),
        filler_(make_sample_filler(
            dataset, order(),
            slot_allocator(device, config.data.pin_memory, std::make_shared<MemoryPromise>()))),
        setting_{
            .end = passes == Passes::single ? steps_per_epoch() : std::numeric_limits<std::int64_t>::max(),
            .threads = std::max<std::int64_t>(1, config.data.workers),
            .ahead = std::max<std::int64_t>(1, config.data.workers * config.data.prefetch)} {}

  std::string text() const override {
    return "workers: yours, " + std::to_string(setting_.threads) + " threads, up to " +
           std::to_string(setting_.ahead) + " batches ahead";
  }

 private:
  static BatchOrder order_of(const Sampler& sampler, const Config& config, Passes passes) {
    BatchOrder order(sampler, micro_batch(config));
    if (passes == Passes::endless) order.repeat_for(config.data.repeats);
    return order;
  }

  LoaderCounts reading_counts() const override { return {.slots = setting_.ahead}; }

  void move(std::int64_t position) override {
    queue_.reset();  // what it read ahead is of another place
    setting_.first = position;
  }

  Batch load(std::int64_t position) override {
    if (!queue_) {
      const auto& part = own_part_as<exercise::Part>();
      queue_ = part.make_read_ahead([this](std::int64_t batch) { return fill(batch); }, setting_);
    }
    const FilledSlot slot{.plan = filler_->plan(position),
                          .memory = queue_->take(),
                          .bytes = filler_->slot_bytes(),
                          .reuse_hook = std::make_shared<std::function<void()>>()};
    return as_batch(position, slot_tensor(slot, both_shape(dataset_, batch_size()), device_));
  }

  SlotMemory fill(std::int64_t batch) const {
    const BatchPlan plan = filler_->plan(batch);
    SlotMemory memory = filler_->allocate();
    FillCost cost;
    for (std::int64_t part = 0; part < filler_->parts(plan); ++part)
      filler_->fill(plan, part, {memory.get(), filler_->slot_bytes()}, cost, std::stop_token());
    return memory;
  }

  const Dataset& dataset_;
  c10::Device device_;
  std::shared_ptr<const SlotFiller> filler_;
  exercise::QueueSetting setting_;
  std::unique_ptr<exercise::BatchQueue> queue_;
};

}  // namespace isobar

#define WorkerLoader YourWorkerLoader
