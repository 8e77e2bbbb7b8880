#pragma once
// A small data set in the layout of the tutorial, with values that say where they come from.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "fields/npy.h"
#include "fields/year_file_writer.h"

namespace isobar {

struct SmallData {
  std::int64_t records = 12;
  std::int64_t channels = 3;
  std::int64_t rows = 8;
  std::int64_t columns = 16;
  std::vector<std::string> train_years = {"2001.h5", "2002.h5"};

  /// The value at one place: no two are alike, and float32 holds them exactly.
  static float value(std::int64_t year, std::int64_t record, std::int64_t channel, std::int64_t row,
                     std::int64_t column) {
    return static_cast<float>((((year * 32 + record) * 4 + channel) * 16 + row) * 32 + column) * 0.125F;
  }

  void write_year(const std::filesystem::path& path, std::int64_t year) const {
    std::filesystem::create_directories(path.parent_path());
    YearFileWriter writer(path, {records, channels, rows, columns}, {{}, {}, {}, {}, "test"});
    for (std::int64_t t = 0; t < records; ++t) {
      std::vector<float> record;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t y = 0; y < rows; ++y) {
          for (std::int64_t x = 0; x < columns; ++x) record.push_back(value(year, t, c, y, x));
        }
      }
      writer.append(record);
    }
    writer.finish();
  }

  void write_stats(const std::filesystem::path& root, float first_std = 2.0F) const {
    std::filesystem::create_directories(root / "stats");
    const std::array<std::int64_t, 4> shape = {1, channels, 1, 1};
    std::vector<float> means;
    std::vector<float> stds;
    for (std::int64_t c = 0; c < channels; ++c) {
      means.push_back(static_cast<float>(c) * 10 + 1);
      stds.push_back(c == 0 ? first_std : static_cast<float>(c) + 2);
    }
    write_npy(root / "stats" / "global_means.npy", shape, means);
    write_npy(root / "stats" / "global_stds.npy", shape, stds);
  }

  void write(const std::filesystem::path& root) const {
    std::int64_t year = 0;
    for (const std::string& name : train_years) write_year(root / "train" / name, year++);
    write_year(root / "valid" / "2009.h5", year);
    write_stats(root);
  }

  DataConfig config() const {
    DataConfig out;
    out.grid = {rows, columns};
    out.channels = channels;
    return out;
  }
};

}  // namespace isobar
