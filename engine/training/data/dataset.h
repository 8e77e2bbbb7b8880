#pragma once
// Samples of one split: the state now and those dt, 2 dt, ... R dt records later, from yearly HDF5 files,
// from memory, or made up. R = 1 but where a rollout is trained (train.rollout).
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/field_place.h"
#include "data/field_source.h"
#include "data/statistics.h"
#include "data/throttle.h"
#include "fields/year_file.h"
#include "kernels/normalise.h"

namespace isobar {

/// The band of latitudes of every field that a rank of a read group reads: rows index H / count to
/// (index + 1) H / count.
struct LatitudeBand {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

class Dataset {
 public:
  /// data.source decides where samples come from. `files`: opens `root/<split>/*.h5` ("train", "valid",
  /// "test") and the statistics, and checks them against `config`: channel count, a grid at least as large as
  /// data.grid (more rows or columns are cropped away), years at least as long as the first. `memory`: the
  /// same, and reads all samples now. `synthetic`: made-up fields, without files. `limit` caps the number of
  /// samples, 0 = all (synthetic: 512). Only the rows of `band` are read, and a sample has `leads` targets.
  /// Errors (exit code 2) name the file; rows that the band's count does not divide, and more leads than a
  /// year has room for, are Errors that name what fits.
  Dataset(const DataConfig& config, const std::filesystem::path& root, const std::string& split,
          std::int64_t limit, LatitudeBand band = {}, std::int64_t leads = 1);
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  std::int64_t size() const { return size_; }
  /// What is read of a field: of a band its rows.
  const FieldShape& shape() const { return shape_; }
  /// R, the targets of a sample.
  std::int64_t leads() const { return leads_; }
  /// Names of the channels, from the file where it has them, else the order of the tutorial.
  const std::vector<std::string>& channel_names() const { return channel_names_; }
  const Statistics& statistics() const { return statistics_; }

  /// Made up: nothing is read, and there is nothing to learn.
  bool is_synthetic() const { return files_.empty(); }
  /// Some of its files are compressed: they are read through the HDF5 library, much slower.
  bool is_compressed() const;

  /// An identity that no other data set has, wherever it lies: names and shapes of its files, a few rows of
  /// each, the statistics, and what the configuration takes of them. Sixteen hexadecimal digits; reads some
  /// kilobytes a file. All bands have that of the whole.
  std::string identity() const;

  /// Mean of each place over time, normalised, of the whole grid; no values when the data set has none, or
  /// one that cannot be its own, which `fault` names.
  const TimeMeans& climatology() const { return climatology_; }

  /// Where the input of sample `i` is, and then its R targets.
  std::vector<FieldPlace> places(std::int64_t i) const;
  /// For messages: the file that holds `place`.
  std::string where(FieldPlace place) const { return source_->where(place); }

  /// The field at `place` as it is in its file. Returns early, with half of it, when `stop` was requested.
  void read_raw(FieldPlace place, std::span<float> out, FillCost& cost,
                const std::stop_token& stop = {}) const;
  /// Normalises a field that `read_raw` gave, in place. A value that is not finite is an Error (exit code 1)
  /// with file, record, channel, row and column.
  void normalise_field(FieldPlace place, std::span<float> field, FillCost& cost) const;
  /// Both at once and in pieces that stay in the processor's cache, into each of `outs`: the same bits as
  /// `read_raw` and `normalise_field`, with fewer passes over memory.
  void read_normalised(FieldPlace place, std::span<float* const> outs, FillCost& cost,
                       const std::stop_token& stop = {}) const;

  /// Sample `i`: fills `fields`, its input and its targets up to `fields.size()` - 1, each [channels, height,
  /// width], normalised: first read, then normalised.
  void read_sample(std::int64_t i, std::span<const std::span<float>> fields, FillCost& cost,
                   const std::stop_token& stop = {}) const;
  void read_sample(std::int64_t i, std::span<float> input, std::span<float> target) const;

 private:
  void open_files(const DataConfig& config, const std::filesystem::path& root, const std::string& split);
  void check_records() const;
  std::unique_ptr<FieldSource> make_source(DataSource from, const FieldShape& shape) const;
  void check_file(const YearFile& file, const DataConfig& config) const;
  /// For each file the records that the samples need, sorted.
  std::vector<std::vector<std::int64_t>> records_needed() const;
  /// Values `first` .. of a field, all of one channel, into the same places of `outs`.
  void normalise_tile(FieldPlace place, std::int64_t channel, std::size_t first, std::span<const float> tile,
                      std::span<float* const> outs, Stores stores) const;
  /// For a source that gives no rows.
  void read_whole(FieldPlace place, std::span<float* const> outs, FillCost& cost,
                  const std::stop_token& stop) const;
  [[noreturn]] void refuse_value(FieldPlace place, std::int64_t index) const;

  std::vector<YearFile> files_;
  std::unique_ptr<FieldSource> source_;
  std::unique_ptr<Throttle> throttle_;
  Statistics statistics_;
  TimeMeans climatology_;
  std::vector<std::string> channel_names_;
  FieldShape shape_;
  std::int64_t times_read_ = 1;  ///< bytes that the source reads for one that is wanted
  std::int64_t size_ = 0;
  std::int64_t records_ = 0;
  std::int64_t dt_;
  std::int64_t leads_;
};

}  // namespace isobar
