#include <fmt/format.h>

#include <initializer_list>

#include "config/config.h"
#include "core/error.h"
#include "core/files.h"

namespace isobar {
namespace {

using Origins = std::map<std::string, std::string>;

/// Where the first of `keys` that somebody set was set; base.toml when none was.
std::string origin_of(const Origins& origins, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = origins.find(key); found != origins.end()) return found->second + " (" + key + ")";
  }
  return std::string("lessons/base.toml (") + *keys.begin() + ")";
}

std::int64_t nearest_multiple(std::int64_t value, std::int64_t of) {
  const std::int64_t below = value / of * of;
  return below > 0 ? below : of;
}

void check_measure(const Config& config, const Origins& origins) {
  if (config.run.measure == "none") return;
  if (!config.train.resume.empty()) {
    throw Error("a run that only measures does not go on with another", origin_of(origins, {"run.measure"}),
                "leave out train.resume, or run.measure");
  }
  if (config.run.measure == "io" && config.data.source == "synthetic") {
    throw Error("run.measure = io reads batches, and with data.source = synthetic there is nothing to read",
                origin_of(origins, {"data.source", "run.measure"}), "data.source=files, or memory");
  }
}

/// A fault of threads that read, in a run that has too few of them, would do nothing.
void check_fault_threads(const Config& config, const Origins& origins) {
  const std::string& fault = config.run.fault;
  const bool of_threads = fault == "slow_worker" || fault == "respawn";
  const std::int64_t least = fault == "same_seed_workers" ? 2 : of_threads ? 1 : 0;
  if (config.data.workers >= least) return;
  throw Error(fmt::format("the fault {} would do nothing with {} worker{}", fault, config.data.workers,
                          config.data.workers == 1 ? "" : "s"),
              origin_of(origins, {"data.workers", "run.fault"}),
              fmt::format("data.workers={} or more", least));
}

/// What each rank computes at a time must be the same whole number of samples.
void check_micro_batch(const Config& config, const Origins& origins) {
  const std::int64_t parts = config.run.ranks * config.train.accumulate;
  if (config.train.global_batch % parts == 0) return;
  const std::string way =
      config.train.accumulate == 1
          ? fmt::format("{} ranks", config.run.ranks)
          : fmt::format("{} ranks x {} backward passes", config.run.ranks, config.train.accumulate);
  throw Error(
      fmt::format("a batch of {} samples cannot be divided over {}", config.train.global_batch, way),
      origin_of(origins, {"train.global_batch", "run.ranks", "train.accumulate"}),
      fmt::format("for example train.global_batch = {}", nearest_multiple(config.train.global_batch, parts)));
}

}  // namespace

std::int64_t micro_batch(const Config& config) {
  return config.train.global_batch / (config.run.ranks * config.train.accumulate);
}

void validate(const Config& config, const Origins& origins) {
  const std::int64_t patch = config.model.patch;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t pixels = config.data.grid[side];
    if (pixels % patch == 0) continue;
    throw Error(fmt::format("the image has {} {}, which patches of {} do not divide", pixels,
                            side == 0 ? "rows" : "columns", patch),
                origin_of(origins, {"data.grid", "model.patch"}),
                fmt::format("for example {}, or another model.patch", nearest_multiple(pixels, patch)));
  }
  if (config.model.embed % config.model.heads != 0) {
    throw Error(fmt::format("model.embed {} cannot be split into {} equal heads", config.model.embed,
                            config.model.heads),
                origin_of(origins, {"model.embed", "model.heads"}),
                fmt::format("for example model.embed = {}",
                            nearest_multiple(config.model.embed, config.model.heads)));
  }
  check_micro_batch(config, origins);
  check_measure(config, origins);
  check_fault_threads(config, origins);
}

std::filesystem::path embedded_data_folder(std::int64_t rows, std::int64_t columns) {
  return cache_prefix() / "data" / fmt::format("fields-{}x{}-v{}", rows, columns, kEmbeddedDataVersion);
}

std::filesystem::path data_root(const DataConfig& config) {
  return config.root.empty() ? embedded_data_folder(config.grid[0], config.grid[1])
                             : std::filesystem::path(config.root);
}

}  // namespace isobar
