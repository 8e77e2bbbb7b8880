#pragma once
// Year files as other programs would write them, through the HDF5 library, good and bad ones.
#include <hdf5.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fields/year_file.h"

namespace isobar {

inline constexpr std::array<std::int64_t, 4> kShape = {5, 3, 8, 16};
inline constexpr std::size_t kRecord = 3 * 8 * 16;

/// Value n of a file of any shape.
inline float value_at(std::size_t n) { return static_cast<float>(n) * 0.25F; }
std::vector<float> all_values(const std::array<std::int64_t, 4>& shape = kShape);

struct Layout {
  hid_t type = H5T_IEEE_F32LE;
  int dims = 4;
  std::optional<std::array<std::int64_t, 4>> chunk = {};
  int gzip = 0;
  bool shuffle = false;
  const char* name = "fields";
  bool external = false;
  bool compact = false;
  bool write = true;
  bool latest = false;                        ///< the newest format of the library instead of the oldest
  bool growing = false;                       ///< time without a limit
  std::vector<std::int64_t> skip_times = {};  ///< records that are never written
  float fill = 0;
  bool never_fill = false;
  std::uint64_t user_block = 0;  ///< bytes in front of everything
  std::array<std::int64_t, 4> shape = kShape;
};

/// What other programs call inside the file before it is closed.
using Added = std::function<void(hid_t file, hid_t dataset)>;

void write_foreign(const std::filesystem::path& path, const Layout& layout, const Added& added = {});

/// The file that this project writes.
void write_ours(const std::filesystem::path& path);

/// Opens `path` (with another reader than ours, if given); the text of the error, or "" when it opens.
std::string opening_error(const std::filesystem::path& path, const H5Program& program = {});

/// Record `time` of the file, cropped.
std::vector<float> record_of(const YearFile& file, std::int64_t time, std::int64_t height,
                             std::int64_t width);

/// What it should hold.
std::vector<float> wanted_record(const std::array<std::int64_t, 4>& shape, std::int64_t time,
                                 std::int64_t height, std::int64_t width);

}  // namespace isobar
