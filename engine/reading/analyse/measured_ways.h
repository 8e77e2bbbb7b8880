#pragma once
// Runs that measured ways to train a batch: beside the ways that analyse/memory_ways.h predicts.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"

namespace isobar {

/// What distinguishes ways of one front: what is computed again, and in how many passes.
struct WayKind {
  CheckpointKind checkpoint = CheckpointKind::none;
  std::int64_t every = 1;  ///< blocks together, of CheckpointKind::block
  std::int64_t passes = 1;

  bool operator==(const WayKind&) const = default;
};
WayKind way_kind(const Config& config);
/// "block every 3, 4 passes"
std::string way_words(const WayKind& way);

struct MeasuredWay {
  WayKind way;
  std::string run;  ///< name of its folder
  std::uint64_t peak_bytes = 0;
  double samples_per_s = 0;
  bool is_crowded = false;  ///< other programs took part of the processors: its rate is too low
};

/// The newest finished run of each way in `parent` that differs from `config` in nothing else, of whatever
/// lesson; one beside no other programs, if there is one. `device` is "here" for the processors of this
/// machine, or the name of a device of formula/device_rates.h.
std::vector<MeasuredWay> measured_ways(const Config& config, const std::string& device,
                                       const std::filesystem::path& parent);

}  // namespace isobar
