#pragma once
// Reads event files as they grow, those of other programs too (the tutorial's logs).
#include <cstdint>
#include <filesystem>
#include <string>

#include "record/tf_record_parser.h"

namespace isobar {

/// Keeps its place: each call returns what whole records were added since the last one; a record that is not
/// whole yet is left for later. A record whose data checksum is wrong, or that is no event, is skipped and
/// counted. One whose length checksum is wrong makes the rest of the file unreadable: `is_damaged`. A call
/// takes 16 MiB or 262,144 values and the next one continues there, so that memory is bounded by the bytes
/// present, those, and 64 MiB a record. The file is open within a call alone: there may be thousands.
class TfEventsReader {
 public:
  /// Error (exit code 2) when the file cannot be opened.
  explicit TfEventsReader(std::filesystem::path path);

  TfEvents read_new();

  bool is_damaged() const { return parser_.is_damaged(); }
  std::int64_t skipped_records() const { return parser_.skipped_records(); }
  /// Bytes that are used up.
  std::uint64_t offset() const { return offset_; }
  /// Why the rest of the file cannot be read, "it is damaged: ..."; "" = it can.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path path_;
  std::uint64_t offset_ = 0;
  std::string problem_;
  TfRecordParser parser_;
};

}  // namespace isobar
