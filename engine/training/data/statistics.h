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
/// tutorial does, so that batches of all loaders compare bit for bit. Returns the index of the first value
/// that is not finite, -1 when all are.
std::int64_t normalise(std::span<float> fields, const Statistics& statistics);

/// Index of the first value that is not finite, -1 when all are.
std::int64_t first_nonfinite(std::span<const float> values);

/// `stats/time_means.npy` below the data folder, [1, C, rows, columns], cropped to [C, height, width] and
/// normalised; empty when there is no such file. Another shape or a value that is not finite is an Error.
std::vector<float> read_climatology(const std::filesystem::path& root, const Statistics& statistics,
                                    std::int64_t height, std::int64_t width);

}  // namespace isobar
