#pragma once
// Per-channel mean and spread, and the normalisation that every loader shares.
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace isobar {

struct Statistics {
  std::vector<float> mean;  ///< [C], in the unit of the channel
  std::vector<float> std;   ///< [C], positive

  /// Reads `stats/global_means.npy` and `stats/global_stds.npy` below the data folder, both [1, C, 1, 1].
  /// Another shape, a value that is not finite, or a spread that is not positive is an Error (exit code 2)
  /// that names file and channel.
  static Statistics read(const std::filesystem::path& root, std::int64_t channels);
};

/// In place, `fields` [C, pixels]: (x - mean_c) / std_c, IEEE subtract and then divide in float32 as the
/// tutorial does, so that batches of all loaders compare bit for bit.
void normalise(std::span<float> fields, const Statistics& statistics);

}  // namespace isobar
