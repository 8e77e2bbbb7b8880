#pragma once
// Small data sets in every storage, and all loaders over them.
#include <memory>

#include "data/ring_loader.h"
#include "data/worker_loader.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

namespace isobar {

/// Which loader, with what.
struct LoaderChoice {
  std::string kind = "workers";
  std::int64_t workers = 2;
  std::int64_t depth = 2;  ///< data.prefetch, or loader.slots
  bool choice = true;      ///< data.persistent, or loader.share_fields
};

struct LoaderWorld {
  LoaderWorld() { data.write(folder.path()); }

  Dataset open(DataSource source = DataSource::files) const {
    DataConfig config = data.config();
    config.source = source;
    config.throttle_mb_per_s = throttle_mb_per_s;
    return {config, folder.path(), "train", 0};
  }
  std::unique_ptr<Loader> loader(const Dataset& dataset, const LoaderChoice& choice, std::int64_t batch,
                                 Passes passes = Passes::endless) {
    const Sampler sampler(dataset.size(), passes == Passes::endless, 333);
    if (choice.kind == "inline") return std::make_unique<InlineLoader>(dataset, sampler, batch);
    Config config;
    config.data = data.config();
    config.train.global_batch = batch;
    config.data.workers = choice.workers;
    if (choice.kind == "workers") {
      config.data.prefetch = choice.depth;
      config.data.persistent = choice.choice;
      return std::make_unique<WorkerLoader>(dataset, sampler, config, c10::kCPU, spans, passes);
    }
    config.loader.slots = choice.depth;
    config.loader.share_fields = choice.choice;
    return std::make_unique<RingLoader>(dataset, sampler, config, c10::kCPU, spans, passes);
  }

  TempFolder folder;
  SmallData data;
  std::int64_t throttle_mb_per_s = 0;
  SpanWriter spans{folder / "spans.jsonl", 200, StreamStart::create, 0, 0, 0};
};

inline std::vector<LoaderChoice> all_loaders() {
  std::vector<LoaderChoice> out;
  for (const std::int64_t workers : {0, 1, 2, 3, 8}) {
    for (const std::int64_t prefetch : {1, 2}) {
      for (const bool persistent : {true, false}) out.push_back({"workers", workers, prefetch, persistent});
    }
  }
  for (const std::int64_t workers : {1, 2, 5}) {
    for (const std::int64_t slots : {1, 2, 3}) {
      for (const bool share : {true, false}) out.push_back({"ring", workers, slots, share});
    }
  }
  return out;
}

}  // namespace isobar
