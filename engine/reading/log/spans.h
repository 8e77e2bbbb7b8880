#pragma once
// The spans of a run: what ran when, on which track. They lie in rank-NNNN.spans.jsonl of the run folder
// (record/span_writer.h).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log/event.h"

namespace isobar {

/// One stretch of time. Times are microseconds since the attempt began, at most 9e15.
struct SpanRow {
  std::int64_t step = 0;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  std::int64_t bytes = 0;   ///< bytes moved; 0 = not known
  std::uint16_t track = 0;  ///< place in SpanTable::tracks
  std::uint16_t name = 0;   ///< place in SpanTable::names
  // Of one step of a collective, whose phase is the name.
  static constexpr std::uint16_t kNoTrack = 0xffff;
  std::uint16_t of = kNoTrack;       ///< the collective: place in SpanTable::tracks
  std::int16_t chunk_step = -1;      ///< within its phase, from 0; -1 = it is no such step
  std::int16_t sent_chunk = -1;      ///< -1 = it sends nothing
  std::int16_t received_chunk = -1;  ///< -1 = it receives nothing
  std::int16_t to = -1, from = -1;   ///< ranks; -1 = none, or not known
  double value = std::numeric_limits<double>::quiet_NaN();  ///< first number of what was received

  std::int64_t duration_us() const { return end_us - begin_us; }
};

/// The spans of one attempt, in the order of the file.
struct SpanTable {
  std::vector<std::string> tracks;  ///< printable, at most 40 bytes each
  std::vector<std::string> names;   ///< likewise
  std::vector<SpanRow> spans;
  std::int64_t attempt = 0;
  std::int64_t origin_us =
      -1;  ///< steady clock at time 0, common to the ranks of one machine; -1 = not known
  std::int64_t unread_lines = 0;  ///< no events, or spans with a value that makes no sense
  std::int64_t left_out = 0;      ///< spans beyond kMostSpans, kMostTracks or kMostSpanNames
};

/// What is kept of one attempt: 56 bytes a span, so 56 MB at most.
inline constexpr std::size_t kMostSpans = 1'000'000;
inline constexpr std::size_t kMostTracks = 256;
inline constexpr std::size_t kMostSpanNames = 1024;

/// Takes the events of a stream of spans in order. A line of kind `attempt` drops what came before it;
/// unknown kinds and keys are ignored; an unknown schema is an Error (exit code 2) that names `where`.
class SpanTableBuilder {
 public:
  explicit SpanTableBuilder(std::string where) : where_(std::move(where)) {}

  void take(const Event& event);
  void count_unread() { ++table_.unread_lines; }
  void clear() { *this = SpanTableBuilder(where_); }
  const SpanTable& table() const { return table_; }

 private:
  using Places = std::unordered_map<std::string, std::uint16_t>;
  void take_span(const Event& event);
  /// The place of `text` in `list`, where it is put when it is new; false when the list is full.
  static bool place_of(const std::string& text, Places& places, std::vector<std::string>& list,
                       std::size_t most, std::uint16_t& out);

  std::string where_;
  SpanTable table_;
  Places tracks_;
  Places names_;
};

/// Reads the spans of one rank while they are written.
class SpanReader {
 public:
  explicit SpanReader(const std::filesystem::path& folder, int rank = 0);

  /// True when something new was read; at most 16 MiB a call.
  bool update() { return log_.update(builder_); }
  void read_all() { log_.read_all(builder_); }
  const SpanTable& table() const { return builder_.table(); }

 private:
  EventLog log_;
  SpanTableBuilder builder_;
};

/// All spans of one rank of the run in `folder`, of the newest attempt that has any. A run without spans is
/// an Error (exit code 2) with the setting that records them.
SpanTable read_spans(const std::filesystem::path& folder, int rank = 0);

/// Places in `table.tracks` in the order in which a person reads them: loop, device, buckets of gradients in
/// their order, upload, then the others by name, load.2 before load.10.
std::vector<std::size_t> ordered_tracks(const SpanTable& table);

}  // namespace isobar
