#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/text.h"
#include "data/index_rule.h"
#include "kernels/normalise.h"

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

Statistics same_for_all(std::int64_t channels, double std) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, 0.0F), std::vector<float>(count, static_cast<float>(std))};
}

/// Large fields go past the cache, which a batch of them would only empty; the model finds small ones in it.
Stores stores_for(const FieldShape& shape) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  return shape.values() * sizeof(float) >= kLarge ? Stores::streaming : Stores::cached;
}

/// Where a piece of a file waits to be normalised; each thread has its own and keeps it, in its core's cache.
std::span<float> tile_buffer(std::size_t values) {
  thread_local std::vector<float> buffer;
  if (buffer.size() < values) buffer.resize(values);
  return std::span(buffer).first(values);
}

/// "2 or 4": the numbers of bands next to `wanted` that `rows` can be cut in.
std::string counts_that_fit(std::int64_t rows, std::int64_t wanted) {
  std::int64_t below = std::min(wanted, rows);
  while (below > 1 && rows % below != 0) --below;
  std::int64_t above = std::max<std::int64_t>(wanted, 1);
  while (above < rows && rows % above != 0) ++above;
  return above > rows || above == below ? fmt::format("{}", below) : fmt::format("{} or {}", below, above);
}

FieldShape shape_of(const FieldShape& whole, const LatitudeBand& band) {
  if (band.index < 0 || band.index >= band.count || whole.height % band.count != 0) {
    throw Error(fmt::format("the grid has {} rows, of which {} ranks cannot read as many each (band {})",
                            whole.height, band.count, band.index),
                "data.read_group",
                fmt::format("data.read_group={}, by which {} can be divided",
                            counts_that_fit(whole.height, band.count), whole.height));
  }
  const std::int64_t rows = whole.height / band.count;
  return {whole.channels, rows, whole.width, band.index * rows, whole.height};
}

constexpr double kCommonUnits = 1e5;              // dividing by 1 would overflow the first step
constexpr std::int64_t kSyntheticRecords = 1460;  // a year of 6-hourly fields
constexpr std::int64_t kSyntheticSamples = 512;   // the number in `short`

}  // namespace

Dataset::Dataset(const DataConfig& config, const std::filesystem::path& root, const std::string& split,
                 std::int64_t limit, LatitudeBand band, std::int64_t leads)
    : throttle_(std::make_unique<Throttle>(config.throttle_mb_per_s)),
      shape_(shape_of({config.channels, config.grid[0], config.grid[1]}, band)),
      dt_(config.dt),
      leads_(leads) {
  if (config.source == DataSource::synthetic) {
    records_ = std::max(kSyntheticRecords, (kLeastStepsOfYear - 1 + leads_) * dt_);
    size_ = limit > 0 ? limit : kSyntheticSamples;
    statistics_ = same_for_all(config.channels, 1);
    channel_names_ = default_channel_names(config.channels);
  } else {
    open_files(config, root, split);
    const std::int64_t all = static_cast<std::int64_t>(files_.size()) * records_;
    size_ = limit > 0 ? std::min(limit, all) : all;
  }
  if (band.count > 1 && has_fault(Fault::read_all)) {
    times_read_ = band.count;
    source_ = make_cut_source(make_source(config.source, shape_.whole()), shape_);
  } else {
    source_ = make_source(config.source, shape_);
  }
}

std::unique_ptr<FieldSource> Dataset::make_source(DataSource from, const FieldShape& shape) const {
  if (from == DataSource::synthetic) return make_synthetic_source(shape);
  return from == DataSource::memory ? make_memory_source(files_, shape, records_needed())
                                    : make_file_source(files_, shape);
}

void Dataset::open_files(const DataConfig& config, const std::filesystem::path& root,
                         const std::string& split) {
  if (!std::filesystem::is_directory(root)) {
    throw Error("there is no such data folder", root.string(),
                "data.root names a folder with train/, valid/ and stats/; empty means the embedded data set");
  }
  files_ = open_year_files(
      year_files(root / (has_fault(Fault::train_on_valid) && split == "train" ? "valid" : split)));
  records_ = files_.front().shape()[0];
  for (const YearFile& file : files_) check_file(file, config);
  check_records();
  statistics_ = Statistics::read(root, shape_.channels);
  climatology_ = read_time_means(root, statistics_, shape_.whole().height, shape_.width);
  if (has_fault(Fault::no_normalise)) statistics_ = same_for_all(shape_.channels, kCommonUnits);
  if (!climatology_.fault.empty()) climatology_.values.clear();
  normalise(climatology_.values, statistics_);
  channel_names_ = files_.front().string_attribute("channel_names");
  if (static_cast<std::int64_t>(channel_names_.size()) != shape_.channels)
    channel_names_ = default_channel_names(shape_.channels);
}

void Dataset::check_records() const {
  const std::string file = files_.front().path().string();
  if (records_ < kLeastStepsOfYear * dt_) {
    throw Error(
        fmt::format("a year of {} records is too short for a step of {} records", records_, dt_), file,
        fmt::format("a smaller data.dt: a file needs at least {} x data.dt records", kLeastStepsOfYear));
  }
  const std::int64_t most = records_ / dt_ - (kLeastStepsOfYear - 1);
  if (leads_ <= most) return;
  throw Error(fmt::format("a year of {} records is too short for a rollout of {} forecasts, {} apart",
                          records_, leads_, counted(dt_, "record")),
              file, fmt::format("train.rollout={} at most, or a smaller data.dt", most));
}

void Dataset::check_file(const YearFile& file, const DataConfig& config) const {
  const auto& [records, channels, rows, columns] = file.shape();
  const FieldShape whole = shape_.whole();
  if (channels != config.channels) {
    throw Error(fmt::format("the file has {} channels, data.channels is {}", channels, config.channels),
                file.path().string(), fmt::format("--set data.channels={}, or other data", channels));
  }
  if (rows < whole.height || columns < whole.width) {
    throw Error(fmt::format("the file's grid is {} x {}, data.grid wants {} x {}", rows, columns,
                            whole.height, whole.width),
                file.path().string(), "a smaller data.grid (more is cropped, less cannot be), or other data");
  }
  if (records < records_) {
    throw Error(fmt::format("the file has {} records, the first year has {}", records, records_),
                file.path().string(),
                "every year must be at least as long as the first; is the copy complete?");
  }
}

bool Dataset::is_compressed() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const YearFile& file) { return file.storage() == FieldStorage::compressed; });
}

std::string Dataset::identity() const {
  std::string names = fmt::format("{} {} {} {}", size_, dt_, shape_.whole().height, shape_.width);
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

std::vector<FieldPlace> Dataset::places(std::int64_t i) const {
  const SamplePlace sample = place_sample(i, records_, dt_, leads_);
  std::vector<FieldPlace> out;
  for (std::int64_t lead = 0; lead <= leads_; ++lead) out.push_back({sample.file, sample.input + lead * dt_});
  return out;
}

std::vector<std::vector<std::int64_t>> Dataset::records_needed() const {
  std::vector<std::set<std::int64_t>> needed(files_.size());
  for (std::int64_t i = 0; i < size_; ++i) {
    for (const FieldPlace field : places(i))
      needed[static_cast<std::size_t>(field.file)].insert(field.record);
  }
  std::vector<std::vector<std::int64_t>> out;
  for (const auto& of_file : needed) out.emplace_back(of_file.begin(), of_file.end());
  return out;
}

void Dataset::read_raw(FieldPlace place, std::span<float> out, FillCost& cost,
                       const std::stop_token& stop) const {
  const std::int64_t begin_us = steady_us();
  source_->read(place, out);
  const std::int64_t bytes = times_read_ * static_cast<std::int64_t>(out.size_bytes());
  throttle_->take(bytes, begin_us, stop);
  cost.read_us += steady_us() - begin_us;
  cost.read_bytes += bytes;
}

void Dataset::normalise_field(FieldPlace place, std::span<float> field, FillCost& cost) const {
  const std::int64_t begin_us = steady_us();
  const std::int64_t bad = normalise(field, statistics_);
  cost.normalise_us += steady_us() - begin_us;
  if (bad >= 0) refuse_value(place, bad);
}

void Dataset::refuse_value(FieldPlace place, std::int64_t index) const {
  const std::int64_t channel = index / (shape_.height * shape_.width);
  throw Error(fmt::format("a value is not a finite number: record {}, channel {} ({}), row {}, column {}",
                          place.record, channel, channel_names_[static_cast<std::size_t>(channel)],
                          shape_.first_row + index / shape_.width % shape_.height, index % shape_.width),
              source_->where(place), "./isobar data check lists every such place", Exit::failed);
}

void Dataset::read_normalised(FieldPlace place, std::span<float* const> outs, FillCost& cost,
                              const std::stop_token& stop) const {
  const std::span<const float> held = source_->in_memory(place);
  const std::int64_t most_rows = held.empty() ? source_->rows_at_once(place) : shape_.tile_rows();
  if (most_rows == 0) return read_whole(place, outs, cost, stop);
  const Stores stores = stores_for(shape_);
  for (std::int64_t channel = 0; channel < shape_.channels; ++channel) {
    for (std::int64_t row = 0; row < shape_.height; row += most_rows) {
      if (stop.stop_requested()) return;
      const std::int64_t rows = std::min(most_rows, shape_.height - row);
      const auto first = static_cast<std::size_t>((channel * shape_.height + row) * shape_.width);
      const auto count = static_cast<std::size_t>(rows * shape_.width);
      std::span<const float> tile = held.empty() ? held : held.subspan(first, count);
      const std::int64_t begin_us = steady_us();
      if (held.empty()) {
        const std::span<float> buffer = tile_buffer(count);
        source_->read_rows(place, channel, row, rows, buffer);
        tile = buffer;
      }
      throttle_->take(static_cast<std::int64_t>(tile.size_bytes()), begin_us, stop);
      const std::int64_t read_us = steady_us();
      cost.read_us += read_us - begin_us;
      cost.read_bytes += static_cast<std::int64_t>(tile.size_bytes());
      normalise_tile(place, channel, first, tile, outs, stores);
      cost.normalise_us += steady_us() - read_us;
    }
  }
}

void Dataset::normalise_tile(FieldPlace place, std::int64_t channel, std::size_t first,
                             std::span<const float> tile, std::span<float* const> outs, Stores stores) const {
  const auto c = static_cast<std::size_t>(channel);
  for (float* const out : outs) {
    const std::int64_t bad =
        normalise_values(tile.data(), out + first, static_cast<std::int64_t>(tile.size()),
                         statistics_.mean[c], statistics_.std[c], stores);
    if (bad == 0) continue;
    const std::int64_t at = first_nonfinite({out + first, tile.size()});
    refuse_value(place, static_cast<std::int64_t>(first) + at);
  }
}

void Dataset::read_whole(FieldPlace place, std::span<float* const> outs, FillCost& cost,
                         const std::stop_token& stop) const {
  const std::span<float> first(outs.front(), shape_.values());
  read_raw(place, first, cost, stop);
  if (stop.stop_requested()) return;
  normalise_field(place, first, cost);
  for (float* const out : outs.subspan(1)) std::copy(first.begin(), first.end(), out);
}

void Dataset::read_sample(std::int64_t i, std::span<const std::span<float>> fields, FillCost& cost,
                          const std::stop_token& stop) const {
  const std::vector<FieldPlace> from = places(i);
  for (std::size_t n = 0; n < fields.size(); ++n) read_raw(from[n], fields[n], cost, stop);
  if (stop.stop_requested()) return;
  for (std::size_t n = 0; n < fields.size(); ++n) normalise_field(from[n], fields[n], cost);
}

void Dataset::read_sample(std::int64_t i, std::span<float> input, std::span<float> target) const {
  FillCost unused;
  read_sample(i, std::array{input, target}, unused);
}

}  // namespace isobar
