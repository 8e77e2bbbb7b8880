#pragma once
// One year of weather: an HDF5 file with one dataset `fields`, float32 [time, channel, lat, lon], row 0 in
// the north. The public ERA5 tutorial data has this layout and loads as it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "foreign/h5_file.h"

namespace isobar {

/// A year file opened for reading. The HDF5 library never runs in this process: `isobar-h5`, a child with
/// limits, looks at the file and reports where the records lie; a file that makes it crash or hang is an
/// Error like any other. Several threads may read (records of a compressed file one after the other). Errors
/// (exit code 2) name the file and the reason: not HDF5, truncated, no dataset `fields`, not 4-d, not
/// little-endian float32, external or virtual storage, a link, no time step, the library crashed.
class YearFile {
 public:
  explicit YearFile(const std::filesystem::path& path);
  ~YearFile();
  YearFile(YearFile&&) noexcept;
  YearFile& operator=(YearFile&&) noexcept;

  const std::filesystem::path& path() const;
  /// [time, channel, lat, lon]
  const std::array<std::int64_t, 4>& shape() const;
  FieldStorage storage() const;
  std::uint64_t record_bytes() const;  ///< channel x lat x lon x 4

  /// `height` rows from `first_row` on and columns 0..width-1 of every channel of record `time`, into `out`
  /// [channel, height, width]. Bytes are as in the file: not normalised. A short read, and a file that was
  /// cut, grew, was removed or had another put in its place since it was opened, is an Error with file and
  /// record (exit code 1).
  void read_record(std::int64_t time, std::int64_t height, std::int64_t width, std::span<float> out,
                   std::int64_t first_row = 0) const;

  /// Rows first_row .. first_row + rows - 1 and columns 0 .. width-1 of one channel of record `time`, into
  /// `out` [rows, width]; for callers that take a record in pieces that stay in the processor's cache. A
  /// short read is an Error as above; whether the file is still the same is not looked at: `check_unchanged`
  /// before the first piece and after the last one does that. A compressed file has no such pieces: Error.
  void read_rows(std::int64_t time, std::int64_t channel, std::int64_t first_row, std::int64_t rows,
                 std::int64_t width, std::span<float> out) const;
  /// Error with the number of the record (exit code 1) when the file was cut, grew, was removed or had
  /// another put in its place since it was opened.
  void check_unchanged(std::int64_t time) const;
  /// Rows in a chunk; 1 where there are none.
  std::int64_t chunk_rows() const;

  /// The string list attribute `name` of the dataset (such as "channel_names"), empty when there is none.
  std::vector<std::string> string_attribute(const std::string& name) const;

 private:
  friend class YearFileOpener;
  struct State;
  explicit YearFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// One of several files that were opened together: the file, or why not.
struct OpenedYearFile {
  std::optional<YearFile> file;
  std::optional<Error> error;
  bool reader_failed = false;  ///< the HDF5 library crashed on it, hung, or answered nonsense
};

/// Opens all files with one child process (a new one after each file that brings it down).
std::vector<OpenedYearFile> try_open_year_files(const std::vector<std::filesystem::path>& paths,
                                                const H5Program& program = {});

/// Opens all of them; the first file that cannot be opened is thrown as its Error.
std::vector<YearFile> open_year_files(const std::vector<std::filesystem::path>& paths,
                                      const H5Program& program = {});

/// The `*.h5` files of a split folder whose base name ends in a four-digit year, in sorted order.
/// No folder, or none in it, is an Error (exit code 2) that names what was looked for.
std::vector<std::filesystem::path> year_files(const std::filesystem::path& folder);

}  // namespace isobar
