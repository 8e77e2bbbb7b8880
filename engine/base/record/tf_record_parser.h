#pragma once
// The bytes of an event file as scalars and images: framing, checksums, and the few protobuf fields that
// matter. Format: tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto (field
// numbers).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/left_out.h"

namespace isobar {

struct TfScalar {
  std::string tag;
  std::int64_t step = 0;
  double wall_time_s = 0;  ///< since 1970; may be anything in a foreign file
  double value = 0;
  std::int64_t session = 0;  ///< how often a program began to write before it, in the same file
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
  LeftOut left_out;  ///< values that are neither
};

/// Takes whole records; one that is not whole yet is left for later. A record whose data checksum is wrong,
/// or that is no event, is skipped and counted. One whose length checksum is wrong, or that would be over 64
/// MiB, makes the rest unreadable: `is_damaged`.
class TfRecordParser {
 public:
  /// `bytes` begin where the last call stopped; returns how many of them are used up. Stops early, with the
  /// rest for the next call, when `out` holds many values.
  std::size_t take(std::string_view bytes, TfEvents& out);

  /// Bytes that must be there for the next record, as far as is known: its head, or all of it.
  std::uint64_t wanted() const { return wanted_; }
  bool is_damaged() const { return damaged_; }
  std::int64_t skipped_records() const { return skipped_; }

  static bool is_full(const TfEvents& events);

 private:
  std::uint64_t wanted_ = kHeadBytes;
  bool damaged_ = false;
  std::int64_t skipped_ = 0;
  std::int64_t sessions_ = 0;

  static constexpr std::uint64_t kHeadBytes = 12;  // length and its checksum
};

}  // namespace isobar
