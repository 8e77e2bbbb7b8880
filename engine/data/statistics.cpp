#include "data/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>

#include "core/error.h"
#include "fields/npy.h"

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

void normalise(std::span<float> fields, const Statistics& statistics) {
  const std::size_t pixels = fields.size() / statistics.mean.size();
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    float* const values = fields.data() + c * pixels;
    const float mean = statistics.mean[c];
    const float spread = statistics.std[c];
    for (std::size_t p = 0; p < pixels; ++p) values[p] = (values[p] - mean) / spread;
  }
}

}  // namespace isobar
