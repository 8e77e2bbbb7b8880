#pragma once
// One year of weather: an HDF5 file with one dataset `fields`, float32 [time, channel, lat, lon], row 0 in
// the north. The public ERA5 tutorial data has this layout and loads as it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace isobar {

/// How one record lies in the file, which decides how it is read.
enum class FieldStorage {
  contiguous,  ///< one run of bytes: read by offset, without the HDF5 library
  chunked,     ///< uncompressed chunks, through the library
  compressed   ///< filtered chunks, through the library: much slower
};

/// A year file opened for reading. Not for use by several threads at once (the HDF5 library is not).
/// Errors (exit code 2) name the file and the reason: not HDF5, truncated, no dataset `fields`, not 4-d, not
/// little-endian float32, external or virtual storage, no time step.
class YearFile {
 public:
  explicit YearFile(std::filesystem::path path);
  ~YearFile();
  YearFile(YearFile&&) noexcept;
  YearFile& operator=(YearFile&&) noexcept;

  const std::filesystem::path& path() const;
  /// [time, channel, lat, lon]
  const std::array<std::int64_t, 4>& shape() const;
  FieldStorage storage() const;
  std::uint64_t record_bytes() const;  ///< channel x lat x lon x 4

  /// Rows 0..height-1 and columns 0..width-1 of every channel of record `time`, into `out` [channel, height,
  /// width]. Bytes are as in the file: not normalised. A short read is an Error with file and record (exit
  /// code 1).
  void read_record(std::int64_t time, std::int64_t height, std::int64_t width, std::span<float> out) const;

  /// The string list attribute `name` of the dataset (such as "channel_names"), empty when there is none.
  std::vector<std::string> string_attribute(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What is written beside the numbers, as attributes of the dataset.
struct FieldsDescription {
  std::vector<std::string> channel_names;
  std::vector<std::string> units;
  std::vector<float> latitudes_deg;  ///< from +90 (north) to -90
  std::vector<float> longitudes_deg;
  std::string source;  ///< one sentence: where the fields come from
};

/// Writes a year file record by record: contiguous, little-endian float32. The name is taken by `finish`
/// only: until then the file is `<name>.part`, and a writer that dies leaves no year file.
class YearFileWriter {
 public:
  YearFileWriter(std::filesystem::path path, std::array<std::int64_t, 4> shape,
                 const FieldsDescription& description);
  ~YearFileWriter();
  YearFileWriter(const YearFileWriter&) = delete;
  YearFileWriter& operator=(const YearFileWriter&) = delete;

  /// The next record [channel, lat, lon]; more records than `shape[0]` are an Error.
  void append(std::span<const float> record);
  /// Closes, makes durable and renames; fewer records than `shape[0]` are an Error.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The `*.h5` files of a split folder whose base name ends in a four-digit year, in sorted order.
/// No folder, or none in it, is an Error (exit code 2) that says what was looked for.
std::vector<std::filesystem::path> year_files(const std::filesystem::path& folder);

}  // namespace isobar
