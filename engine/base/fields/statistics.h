#pragma once
// The files of stats/ in a data set, and what must hold of them: the loaders and ./isobar data check ask
// here.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// A year must hold this many steps of data.dt records.
inline constexpr std::int64_t kLeastStepsOfYear = 3;

/// `stats/global_means.npy` below the data folder, [1, C, 1, 1]: [C] in the units of the channels. Another
/// shape or a value that is not finite is an Error (exit code 2) that names file and channel.
std::vector<float> read_means(const std::filesystem::path& root, std::int64_t channels);
/// `stats/global_stds.npy` alike, all positive.
std::vector<float> read_spreads(const std::filesystem::path& root, std::int64_t channels);

struct Statistics {
  std::vector<float> mean;  ///< [C], in the unit of the channel
  std::vector<float> std;   ///< [C], positive

  static Statistics read(const std::filesystem::path& root, std::int64_t channels);
};

/// Mean of each place over time.
struct TimeMeans {
  std::vector<float> values;  ///< [C, height, width] in the units of the channels; empty without a file
  /// Why they cannot be those of data with such statistics, "" = they can: over the whole grid their mean is
  /// more than a spread from that of the data, as where a script wrote zeros.
  std::string fault;
};

/// `stats/time_means.npy` below the data folder, [1, C, rows, columns], cropped from the top left. Another
/// shape, fewer rows or columns, or a value that is not finite is an Error (exit code 2).
TimeMeans read_time_means(const std::filesystem::path& root, const Statistics& statistics,
                          std::int64_t height, std::int64_t width);

}  // namespace isobar
