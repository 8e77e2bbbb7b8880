#include "data/ring_loader.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "data/affinity.h"
#include "data/slots.h"
#include "device/stream.h"

namespace isobar {
namespace {

SlotLayout layout_for(const LoaderConfig& loader, c10::Device device) {
  if (device.is_cpu()) return SlotLayout::ready;
  if (loader.upload_type != UploadType::f32)
    return loader.upload_type == UploadType::f16 ? SlotLayout::f16 : SlotLayout::i16;
  return loader.normalise == NormalisedOn::device ? SlotLayout::raw : SlotLayout::ready;
}

}  // namespace

RingLoader::RingLoader(const Dataset& dataset, const Sampler& sampler, const Config& config,
                       c10::Device device, SpanWriter& spans, Passes passes)
    : Loader(BatchOrder(sampler, micro_batch(config), config.train.accumulate), dataset),
      dataset_(dataset),
      device_(device),
      spans_(passes == Passes::endless ? &spans : nullptr),
      layout_(layout_for(config.loader, device)),
      shares_(config.loader.share_fields) {
  const DataConfig& data = config.data;
  if (data.workers < 1) {
    throw Error("the pipeline needs at least one thread that reads", "data.workers = 0",
                "data.workers=1 or more; lesson 02 can do without");
  }
  const std::int64_t slots = config.loader.slots;
  const auto promise = std::make_shared<MemoryPromise>();
  auto filler =
      make_field_filler(dataset, order(), shares_, layout_, slot_allocator(device, data.pin_memory, promise));
  check_slots(slots, filler->slot_bytes(), fmt::format("loader.slots = {}", slots), *promise);
  ahead_ = std::make_unique<ReadAhead>(std::move(filler), order(),
                                       ReadAheadSetting{.threads = data.workers,
                                                        .ahead = slots,
                                                        .most_slots = slots,
                                                        .crosses_epochs = passes == Passes::endless,
                                                        .keeps_threads = true,
                                                        .cpus = parse_affinity(data.cpu_affinity),
                                                        .spans = spans_});
}

LoaderCounts RingLoader::reading_counts() const {
  const ReadAheadCounts counts = ahead_->counts();
  return {.read_bytes = counts.read_bytes,
          .cpu_us = counts.cpu_us,
          .ready = counts.ready,
          .slots = ahead_->setting().ahead};
}

std::string RingLoader::text() const {
  const ReadAheadSetting& setting = ahead_->setting();
  const std::size_t bytes = batch_bytes(dataset_, batch_size());
  const std::string where =
      has_streams(device_) ? (layout_ == SlotLayout::raw ? "the device normalises" : "the threads normalise")
                           : "on a CPU the threads normalise as they read, and nothing is copied after that";
  return fmt::format("ring: {} thread{} fill {} slot{} of {} field by field{}; {}{}", setting.threads,
                     setting.threads == 1 ? "" : "s", setting.most_slots, setting.most_slots == 1 ? "" : "s",
                     human_bytes(bytes), shares_ ? ", shared fields once" : "", where,
                     slow_files_text(dataset_));
}

Batch RingLoader::load(std::int64_t position) {
  const FilledSlot slot = ahead_->take();
  return as_batch(position, slot_tensor(slot, batch_shape(dataset_, batch_size()), device_));
}

void RingLoader::move(std::int64_t position) { ahead_->seek(position); }

}  // namespace isobar
