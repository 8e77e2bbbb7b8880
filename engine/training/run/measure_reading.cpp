#include "run/measure_reading.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "data/loader.h"
#include "fields/npy.h"
#include "fields/year_file_writer.h"
#include "launch/private_folder.h"
#include "samples/sampler.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kYear = "train/2001.h5";
constexpr std::array kStatistics = {"stats/global_means.npy", "stats/global_stds.npy"};

void remove_data(const fs::path& root) {
  ::unlink((root / kYear).c_str());
  for (const char* name : kStatistics) ::unlink((root / name).c_str());
  for (const char* folder : {"train", "stats"}) ::rmdir((root / folder).c_str());
}

/// The values of a field, with a spread of about 1.
std::vector<float> made_field(const VitShape& shape, std::int64_t record) {
  std::vector<float> out(static_cast<std::size_t>(shape.channels * shape.height * shape.width));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(record) * 11) % 101) / 30 - 1.7F;
  return out;
}

void write_data(const fs::path& root, const VitShape& shape, std::int64_t records) {
  for (const char* folder : {"train", "stats"}) fs::create_directory(root / folder);
  YearFileWriter year(root / kYear, {records, shape.channels, shape.height, shape.width},
                      {{}, {}, {}, {}, "made up, to measure reading"});
  for (std::int64_t record = 0; record < records; ++record) {
    stop_if_asked();
    year.append(made_field(shape, record));
  }
  year.finish();
  const std::array<std::int64_t, 4> of_channels = {1, shape.channels, 1, 1};
  for (const char* name : kStatistics)
    write_npy(root / name, of_channels, std::vector<float>(static_cast<std::size_t>(shape.channels), 1.5F));
}

}  // namespace

double measure_reading(const VitShape& shape, std::int64_t batch, const Repeats& repeats) {
  constexpr std::int64_t kBatches = 4;
  const PrivateFolder folder(remove_data);
  write_data(folder.path(), shape, kBatches * batch + 1);
  DataConfig config;
  config.grid = {shape.height, shape.width};
  config.channels = shape.channels;
  const Dataset fields(config, folder.path(), "train", /*limit=*/0);
  const Sampler sampler(fields.size(), config.shuffle, config.seed);
  InlineLoader loader(fields, sampler, batch);
  const auto field_bytes = static_cast<double>(shape.channels * shape.height * shape.width) * sizeof(float);
  const double time_us = median_time_us([&] { loader.next(); }, repeats);
  return rate_per_s(2 * static_cast<double>(batch) * field_bytes, time_us);
}

}  // namespace isobar
