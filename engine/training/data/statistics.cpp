#include "data/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"
#include "fields/npy.h"
#include "kernels/normalise.h"

namespace isobar {
namespace {

std::vector<float> read_channel_values(const std::filesystem::path& path, std::int64_t channels) {
  NpyArray array = read_npy(path);
  const std::vector<std::int64_t> wanted = {1, channels, 1, 1};
  if (array.shape != wanted) {
    throw Error(fmt::format("the statistics have shape [{}], [{}] is wanted", fmt::join(array.shape, ", "),
                            fmt::join(wanted, ", ")),
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

}  // namespace

Statistics Statistics::read(const std::filesystem::path& root, std::int64_t channels) {
  const std::filesystem::path stds = root / "stats" / "global_stds.npy";
  Statistics statistics{read_channel_values(root / "stats" / "global_means.npy", channels),
                        read_channel_values(stds, channels)};
  for (std::size_t c = 0; c < statistics.std.size(); ++c) {
    if (statistics.std[c] <= 0) {
      throw Error(
          fmt::format("the spread of channel {} is {}; normalising divides by it", c, statistics.std[c]),
          stds.string(), "a channel that never changes cannot be learnt; compute the statistics again");
    }
  }
  return statistics;
}

std::int64_t normalise(std::span<float> fields, const Statistics& statistics) {
  const std::size_t pixels = fields.size() / statistics.mean.size();
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    float* const values = fields.data() + c * pixels;
    if (normalise_values(values, values, static_cast<std::int64_t>(pixels), statistics.mean[c],
                         statistics.std[c], Stores::cached) == 0) {
      continue;
    }
    return static_cast<std::int64_t>(c * pixels) + first_nonfinite({values, pixels});
  }
  return -1;
}

std::int64_t first_nonfinite(std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  return bad == values.end() ? -1 : bad - values.begin();
}

std::vector<float> read_climatology(const std::filesystem::path& root, const Statistics& statistics,
                                    std::int64_t height, std::int64_t width) {
  const std::filesystem::path path = root / "stats" / "time_means.npy";
  if (!std::filesystem::exists(path)) return {};
  const NpyArray array = read_npy(path);
  const auto channels = static_cast<std::int64_t>(statistics.mean.size());
  if (array.shape.size() != 4 || array.shape[0] != 1 || array.shape[1] != channels ||
      array.shape[2] < height || array.shape[3] < width) {
    throw Error(fmt::format("the climatology has shape [{}], [1, {}, {}, {}] is wanted",
                            fmt::join(array.shape, ", "), channels, height, width),
                path.string(),
                "compute it over the training files, or take the file away to train without it");
  }
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(channels * height * width));
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      const auto row = array.values.begin() + (c * array.shape[2] + y) * array.shape[3];
      out.insert(out.end(), row, row + width);
    }
  }
  if (const std::int64_t bad = normalise(out, statistics); bad >= 0) {
    throw Error(fmt::format("value {} of the climatology is not a finite number", bad), path.string(),
                "compute it again over the training files");
  }
  return out;
}

}  // namespace isobar
