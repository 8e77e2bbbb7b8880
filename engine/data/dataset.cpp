#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/fault.h"
#include "data/index_rule.h"

namespace isobar {
namespace {

/// The order of the 20 channels of the tutorial (FourCastNet); positions 0 (u10m) and 2 (t2m) are fixed by
/// its code.
std::vector<std::string> default_channel_names(std::int64_t channels) {
  static const std::vector<std::string> kNames = {"u10m",  "v10m",  "t2m",  "sp",   "msl",  "t850", "u1000",
                                                  "v1000", "z1000", "u850", "v850", "z850", "u500", "v500",
                                                  "z500",  "t500",  "z50",  "r500", "r850", "tcwv"};
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    names.push_back(channels == 20 ? kNames[at] : fmt::format("channel{}", c));
  }
  return names;
}

std::string actual_split(const std::string& split) {
  return split == "train" && has_fault(Fault::train_on_valid) ? "valid" : split;
}

/// Statistics that leave fields in their own units: dividing by 1 would overflow the first step.
Statistics units_only(std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, 0.0F), std::vector<float>(count, 1e5F)};
}

constexpr std::int64_t kSlowDisk_mb_per_s = 290;

}  // namespace

Dataset::Dataset(const DataConfig& config, const std::filesystem::path& root, const std::string& split,
                 std::int64_t limit)
    : dt_(config.dt),
      throttle_mb_per_s_(has_fault(Fault::slow_disk) ? kSlowDisk_mb_per_s : config.throttle_mb_per_s),
      channels_(config.channels),
      height_(config.grid[0]),
      width_(config.grid[1]) {
  if (!std::filesystem::is_directory(root)) {
    throw Error("there is no such data folder", root.string(),
                "data.root names a folder with train/, valid/ and stats/; empty means the embedded data set");
  }
  files_ = open_year_files(year_files(root / actual_split(split)));
  records_ = files_.front().shape()[0];
  for (const YearFile& file : files_) check_file(file, config);
  if (records_ < 3 * dt_) {
    throw Error(fmt::format("a year of {} records is too short for a step of {} records", records_, dt_),
                files_.front().path().string(),
                "a smaller data.dt: a file needs at least 3 x data.dt records");
  }
  statistics_ = Statistics::read(root, channels_);
  if (has_fault(Fault::no_normalise)) statistics_ = units_only(channels_);
  climatology_ = read_climatology(root, statistics_, height_, width_);
  channel_names_ = files_.front().string_attribute("channel_names");
  if (static_cast<std::int64_t>(channel_names_.size()) != channels_)
    channel_names_ = default_channel_names(channels_);
  const std::int64_t all = static_cast<std::int64_t>(files_.size()) * records_;
  size_ = limit > 0 ? std::min(limit, all) : all;
}

void Dataset::check_file(const YearFile& file, const DataConfig& config) const {
  const auto& [records, channels, rows, columns] = file.shape();
  if (channels != config.channels) {
    throw Error(fmt::format("the file has {} channels, data.channels is {}", channels, config.channels),
                file.path().string(), fmt::format("--set data.channels={}, or other data", channels));
  }
  if (rows < height_ || columns < width_) {
    throw Error(
        fmt::format("the file's grid is {} x {}, data.grid wants {} x {}", rows, columns, height_, width_),
        file.path().string(), "a smaller data.grid (more is cropped, less cannot be), or other data");
  }
  if (records < records_) {
    throw Error(fmt::format("the file has {} records, the first year has {}", records, records_),
                file.path().string(),
                "every year must be at least as long as the first; is the copy complete?");
  }
}

std::size_t Dataset::field_values() const { return static_cast<std::size_t>(channels_ * height_ * width_); }

std::string Dataset::identity() const {
  std::string names = fmt::format("{} {} {} {}", size_, dt_, height_, width_);
  std::uint32_t values = 0;
  const auto add = [&values](std::span<const float> of) { values = crc32c(std::as_bytes(of), values); };
  add(statistics_.mean);
  add(statistics_.std);
  for (const YearFile& file : files_) {
    const auto& [records, channels, rows, columns] = file.shape();
    names +=
        fmt::format(" {} {} {} {} {}", file.path().filename().string(), records, channels, rows, columns);
    std::vector<float> band(static_cast<std::size_t>(channels * columns));
    for (const std::int64_t record : {std::int64_t{0}, records / 2, records - 1}) {
      file.read_record(record, 1, columns, band);
      add(band);
    }
  }
  return fmt::format("{:08x}{:08x}", crc32c(std::as_bytes(std::span(names))), values);
}

void Dataset::read_field(const YearFile& file, std::int64_t record, std::span<float> out) const {
  const std::int64_t begin_us = steady_us();
  file.read_record(record, height_, width_, out);
  if (throttle_mb_per_s_ > 0) {
    const auto due_us = static_cast<std::int64_t>(out.size_bytes()) / throttle_mb_per_s_;
    std::this_thread::sleep_for(std::chrono::microseconds(begin_us + due_us - steady_us()));
  }
  const std::int64_t bad = normalise(out, statistics_);
  if (bad < 0) return;
  const std::int64_t channel = bad / (height_ * width_);
  throw Error(fmt::format("a value is not a finite number: record {}, channel {} ({}), row {}, column {}",
                          record, channel, channel_names_[static_cast<std::size_t>(channel)],
                          bad / width_ % height_, bad % width_),
              file.path().string(), "./isobar data check lists every such place", Exit::failed);
}

void Dataset::read_sample(std::int64_t i, std::span<float> input, std::span<float> target) const {
  const SamplePlace place = place_sample(i, records_, dt_);
  const YearFile& file = files_[static_cast<std::size_t>(place.file)];
  read_field(file, place.input, input);
  read_field(file, place.input + dt_, target);
}

}  // namespace isobar
