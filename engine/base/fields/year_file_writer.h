#pragma once
// Writes year files (fields/year_file.h). The only code of a program of ours that calls the HDF5 library in
// its own process: what it writes is ours, foreign files are read by `isobar-h5`. Link isobar::fields_writer.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace isobar {

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

}  // namespace isobar
