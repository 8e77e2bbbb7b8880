#include "data/worker_loader.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "data/affinity.h"
#include "data/slots.h"

namespace isobar {
namespace {

BatchOrder order_of(const Sampler& sampler, const Config& config, Passes passes) {
  BatchOrder order(sampler, micro_batch(config));
  if (passes == Passes::endless && has_fault(Fault::same_seed_workers))
    order.repeat_for(std::max<std::int64_t>(1, config.data.workers));
  return order;
}

}  // namespace

WorkerLoader::WorkerLoader(const Dataset& dataset, const Sampler& sampler, const Config& config,
                           c10::Device device, SpanWriter& spans, Passes passes)
    : Loader(order_of(sampler, config, passes), dataset), dataset_(dataset), device_(device) {
  const DataConfig& data = config.data;
  const std::vector<int> cpus = parse_affinity(data.cpu_affinity);
  const std::int64_t threads = data.workers;
  if (threads == 0) {
    inline_ = std::make_unique<InlineLoader>(dataset, sampler, batch_size());
    return;
  }
  const auto promise = std::make_shared<MemoryPromise>();
  auto filler = make_sample_filler(dataset, order(), slot_allocator(device, data.pin_memory, promise));
  const std::int64_t ahead = threads * data.prefetch;
  check_slots(ahead + 1, filler->slot_bytes(),
              fmt::format("data.workers = {} and data.prefetch = {}", threads, data.prefetch), *promise);
  const bool trains = passes == Passes::endless;
  setting_ = {.threads = threads,
              .ahead = ahead,
              .crosses_epochs = data.persistent && trains,
              .keeps_threads = data.persistent,
              .cpus = cpus,
              .spans = trains ? &spans : nullptr};
  ahead_ = seams::read_ahead(std::move(filler), order(), setting_);
}

LoaderCounts WorkerLoader::reading_counts() const {
  if (inline_) return inline_->counts();
  const ReadAheadCounts counts = ahead_->counts();
  return {.read_bytes = counts.read_bytes,
          .cpu_us = counts.cpu_us,
          .ready = counts.ready,
          .slots = setting_.ahead};
}

std::string WorkerLoader::text() const {
  if (inline_) return inline_->text();
  const std::size_t bytes = batch_bytes(dataset_, batch_size());
  return fmt::format("workers: {} thread{} read up to {} batches of {} ahead{}{}", setting_.threads,
                     setting_.threads == 1 ? "" : "s", setting_.ahead, human_bytes(bytes),
                     setting_.keeps_threads ? "" : ", started anew for each epoch",
                     slow_files_text(dataset_));
}

Batch WorkerLoader::load(std::int64_t position) {
  if (inline_) return inline_->next();
  const FilledSlot slot = ahead_->take();
  return as_batch(position, slot_tensor(slot, batch_shape(dataset_, batch_size()), device_));
}

void WorkerLoader::move(std::int64_t position) {
  if (inline_) return inline_->seek(position);
  ahead_->seek(position);
}

}  // namespace isobar
