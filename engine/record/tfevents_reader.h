#pragma once
// Reads event files as they grow, those of other programs too (the tutorial's logs).
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"

namespace isobar {

struct TfScalar {
  std::string tag;
  std::int64_t step = 0;
  double wall_time_s = 0;  ///< since 1970; may be anything in a foreign file
  double value = 0;
};

struct TfImage {
  std::string tag;
  std::int64_t step = 0;
  std::string png;  ///< encoded, as it is in the file
};

/// What one call of `read_new` found.
struct TfEvents {
  std::vector<TfScalar> scalars;
  std::vector<TfImage> images;
};

/// Keeps its place: each call returns what whole records were added since the last one; a record that is not
/// whole yet is left for later. A record whose data checksum is wrong, or that is no event, is skipped and
/// counted. One whose length checksum is wrong makes the rest of the file unreadable: `is_damaged`. Memory is
/// bounded by the bytes present and 64 MiB a record.
class TfEventsReader {
 public:
  /// Error (exit code 2) when the file cannot be opened.
  explicit TfEventsReader(std::filesystem::path path);

  TfEvents read_new();

  bool is_damaged() const { return damaged_; }
  std::int64_t skipped_records() const { return skipped_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t offset_ = 0;
  bool damaged_ = false;
  std::int64_t skipped_ = 0;
};

}  // namespace isobar
