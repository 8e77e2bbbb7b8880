#pragma once
// Where raw fields come from: files, memory, or nowhere.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/field_place.h"
#include "fields/year_file.h"

namespace isobar {

/// The part of every field that is used: its first rows and columns, or a band of its rows.
struct FieldShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t first_row = 0;  ///< where a band begins in the whole field
  std::int64_t all_rows = 0;   ///< rows of the whole field that a band is part of; 0 = this is the whole

  FieldShape whole() const {
    const std::int64_t rows = all_rows == 0 ? height : all_rows;
    return {channels, rows, width, 0, rows};
  }

  bool operator==(const FieldShape&) const = default;

  std::size_t plane() const { return static_cast<std::size_t>(height * width); }
  std::size_t values() const { return static_cast<std::size_t>(channels) * plane(); }
  /// Rows of a plane, about 256 KiB of them: a piece that stays in the cache of one core.
  std::int64_t tile_rows() const;
};

/// Any thread may read.
class FieldSource {
 public:
  virtual ~FieldSource() = default;

  /// The field at `place`, [channels, height, width], in the units of the source: not normalised.
  virtual void read(FieldPlace place, std::span<float> out) const = 0;

  /// The field at `place` where it lies in memory already; empty when it has to be read.
  virtual std::span<const float> in_memory(FieldPlace) const { return {}; }

  /// Rows of a plane that `read_rows` reads best at once; 0 = a field comes whole or not at all.
  virtual std::int64_t rows_at_once(FieldPlace) const { return 0; }
  /// Rows first_row .. first_row + rows - 1 of channel `channel`, counted from the first that is used, into
  /// `out` [rows, width]. Whoever reads a
  /// field in pieces reads them in order, and all of them: the first one and the last one look whether the
  /// file is still what it was.
  virtual void read_rows(FieldPlace place, std::int64_t channel, std::int64_t first_row, std::int64_t rows,
                         std::span<float> out) const;

  /// For messages: the file that holds `place`.
  virtual std::string where(FieldPlace place) const = 0;
};

/// Reads from `files`, which outlive it.
std::unique_ptr<FieldSource> make_file_source(const std::vector<YearFile>& files, const FieldShape& shape);

/// Reads `records` of each of `files` (sorted, as many lists as files) once, now, and gives them out of
/// memory. Error (exit code 2) with both numbers when memory cannot hold them.
std::unique_ptr<FieldSource> make_memory_source(const std::vector<YearFile>& files, const FieldShape& shape,
                                                const std::vector<std::vector<std::int64_t>>& records);

/// Made-up fields with mean 0 and spread 1, the same in every run: a few of them, again and again.
std::unique_ptr<FieldSource> make_synthetic_source(const FieldShape& shape);

/// Reads whole fields from `source`, and gives the rows of `shape`.
std::unique_ptr<FieldSource> make_cut_source(std::unique_ptr<FieldSource> source, const FieldShape& shape);

}  // namespace isobar
