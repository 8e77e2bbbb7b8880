#pragma once
// Samples of one split: pairs (state now, state dt records later) from yearly HDF5 files.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/statistics.h"
#include "fields/year_file.h"

namespace isobar {

class Dataset {
 public:
  /// Opens `root/<split>/*.h5` ("train", "valid", "test") and the statistics, and checks them against
  /// `config`: channel count, a grid at least as large as data.grid (more rows or columns are cropped away),
  /// years at least as long as the first. `limit` caps the number of samples, 0 = all. Errors (exit code 2)
  /// name the file.
  Dataset(const DataConfig& config, const std::filesystem::path& root, const std::string& split,
          std::int64_t limit);

  std::int64_t size() const { return size_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// Floats in one field: channels x height x width.
  std::size_t field_values() const;
  /// Names of the channels, from the file where it says them, else the order of the tutorial.
  const std::vector<std::string>& channel_names() const { return channel_names_; }

  /// What tells this data set from another, wherever it lies: names and shapes of its files, a few rows of
  /// each, the statistics, and what the configuration takes of them. Sixteen hexadecimal digits; reads some
  /// kilobytes a file.
  std::string identity() const;

  /// Mean of each place over time, normalised, [channels, height, width]; empty when the data set has none.
  const std::vector<float>& climatology() const { return climatology_; }

  /// Sample `i`: fills `input` and `target`, both [channels, height, width], normalised. A value
  /// that is not finite is an Error (exit code 1) with file, record, channel, row and column.
  void read_sample(std::int64_t i, std::span<float> input, std::span<float> target) const;

 private:
  void read_field(const YearFile& file, std::int64_t record, std::span<float> out) const;
  void check_file(const YearFile& file, const DataConfig& config) const;

  std::vector<YearFile> files_;
  Statistics statistics_;
  std::vector<float> climatology_;
  std::vector<std::string> channel_names_;
  std::int64_t size_ = 0;
  std::int64_t records_ = 0;
  std::int64_t dt_;
  std::int64_t throttle_mb_per_s_;
  std::int64_t channels_;
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace isobar
