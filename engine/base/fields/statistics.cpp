#include "fields/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/text.h"
#include "fields/npy.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

std::vector<float> read_channel_values(const fs::path& path, std::int64_t channels) {
  NpyArray array = read_npy(path);
  const std::vector<std::int64_t> wanted = {1, channels, 1, 1};
  if (array.shape != wanted) {
    throw Error(
        fmt::format("the statistics have shape [{}], [{}] is wanted", joined(array.shape), joined(wanted)),
        path.string(), "data.channels and the data set must agree");
  }
  for (std::size_t c = 0; c < array.values.size(); ++c) {
    if (!std::isfinite(array.values[c])) {
      throw Error(fmt::format("the statistic of channel {} is not a finite number", c), path.string(),
                  "compute the statistics again over the training files");
    }
  }
  return std::move(array.values);
}

/// Why `values`, [C, pixels], are no climatology of such data; "" = they can be.
std::string fault_of(const std::vector<float>& values, const Statistics& statistics) {
  const std::size_t channels = statistics.mean.size();
  const std::size_t pixels = values.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(c * pixels);
    const auto end = begin + static_cast<std::ptrdiff_t>(pixels);
    const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(pixels);
    if (std::fabs(mean - static_cast<double>(statistics.mean[c])) <= static_cast<double>(statistics.std[c]))
      continue;
    const bool all_zero = std::all_of(begin, end, [](float value) { return value == 0; });
    return fmt::format(
        "the climatology is {} in channel {}, where the data have mean {:.6g} and spread {:.6g}",
        all_zero ? "all zeros" : fmt::format("{:.6g} in the mean", mean), c, statistics.mean[c],
        statistics.std[c]);
  }
  return "";
}

/// The top left [C, height, width].
std::vector<float> cropped(const NpyArray& array, std::int64_t height, std::int64_t width) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(array.shape[1] * height * width));
  for (std::int64_t c = 0; c < array.shape[1]; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      const auto row = array.values.begin() + (c * array.shape[2] + y) * array.shape[3];
      out.insert(out.end(), row, row + width);
    }
  }
  return out;
}

}  // namespace

std::vector<float> read_means(const fs::path& root, std::int64_t channels) {
  return read_channel_values(root / "stats" / "global_means.npy", channels);
}

std::vector<float> read_spreads(const fs::path& root, std::int64_t channels) {
  const fs::path path = root / "stats" / "global_stds.npy";
  std::vector<float> out = read_channel_values(path, channels);
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (out[c] <= 0) {
      throw Error(fmt::format("the spread of channel {} is {}; normalising divides by it", c, out[c]),
                  path.string(),
                  "a channel that never changes cannot be learnt; compute the statistics again");
    }
  }
  return out;
}

Statistics Statistics::read(const fs::path& root, std::int64_t channels) {
  return {read_means(root, channels), read_spreads(root, channels)};
}

TimeMeans read_time_means(const fs::path& root, const Statistics& statistics, std::int64_t height,
                          std::int64_t width) {
  const fs::path path = root / "stats" / "time_means.npy";
  if (!fs::exists(path)) return {};
  const NpyArray array = read_npy(path);
  const auto channels = static_cast<std::int64_t>(statistics.mean.size());
  if (array.shape.size() != 4 || array.shape[0] != 1 || array.shape[1] != channels ||
      array.shape[2] < height || array.shape[3] < width) {
    throw Error(fmt::format("the climatology has shape [{}], [1, {}, {}, {}] is wanted", joined(array.shape),
                            channels, height, width),
                path.string(),
                "compute it over the training files, or take the file away to train without it");
  }
  TimeMeans out{cropped(array, height, width), fault_of(array.values, statistics)};
  const std::size_t pixels = out.values.size() / statistics.mean.size();
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const std::size_t c = i / pixels;
    if (!std::isfinite((out.values[i] - statistics.mean[c]) / statistics.std[c])) {
      throw Error(fmt::format("value {} of the climatology is not a finite number", i), path.string(),
                  "compute it again over the training files");
    }
  }
  return out;
}

}  // namespace isobar
