#pragma once
// The events of one file that a run writes, for a builder of whatever is made of them: one with
// `take(const Event&)`, or `take(const Event&, std::string_view line)`, and where it cares `count_unread()`
// for lines that are no events, `clear()` for a file that was replaced, and `skip()` for lines that were left
// out.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analyse/event.h"
#include "record/stream_reader.h"

namespace isobar {

/// Gives a line to `builder`.
template <typename Builder>
void take_line(std::string_view line, EventParser& parser, Builder& builder) {
  if (const Event* const event = parser.parse(line); event != nullptr) {
    if constexpr (requires { builder.take(*event, line); }) {
      builder.take(*event, line);
    } else {
      builder.take(*event);
    }
  } else if constexpr (requires { builder.count_unread(); }) {
    builder.count_unread();
  }
}

/// Gives whole lines of `bytes` to `builder`.
template <typename Builder>
void take_lines(std::string_view bytes, EventParser& parser, Builder& builder) {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    take_line(bytes.substr(0, end), parser, builder);
    bytes.remove_prefix(end + 1);
  }
}

/// Reads a file while it is written.
class EventLog {
 public:
  explicit EventLog(std::filesystem::path path) : stream_(std::move(path)) {}

  /// Gives the lines that were added since the last call to `builder`; false when there is none. At most 16
  /// MiB a call.
  template <typename Builder>
  bool update(Builder& builder) {
    const std::vector<std::string> lines = stream_.read_new();
    if (stream_.restarts() != restarts_) {
      restarts_ = stream_.restarts();
      if constexpr (requires { builder.clear(); }) builder.clear();
    }
    for (const std::string& line : lines) take_line(line, parser_, builder);
    const std::int64_t dropped = stream_.dropped_lines() - dropped_;  // longer than any event
    if constexpr (requires { builder.count_unread(); }) {
      for (std::int64_t i = 0; i < dropped; ++i) builder.count_unread();
    }
    dropped_ += dropped;
    return !lines.empty() || dropped > 0;
  }
  template <typename Builder>
  void read_all(Builder& builder) {
    while (update(builder)) {
    }
  }
  /// How often the file was replaced by another while it was read.
  int restarts() const { return restarts_; }

 private:
  StreamReader stream_;
  EventParser parser_;
  int restarts_ = 0;
  std::int64_t dropped_ = 0;
};

/// A stream that may be too long to be read for what is wanted of it.
struct StreamEnds {
  std::string head;   ///< its first 16 KiB, which say what runs; all of it where it is short
  bool whole = true;  ///< nothing lies between
  std::string attempt =
      {};  ///< of a resumed run: the line with which its newest attempt begins; "" = in the tail
  std::string tail = {};  ///< from the begin of a line on
};

/// The ends of a rank's stream. Without `tail_bytes` the tail is as long as holds the last 16 KiB of events:
/// junk behind them, as a broken file system leaves it, or a line without an end hides them from a look at
/// the last bytes alone.
StreamEnds read_ends(const std::filesystem::path& run, int rank,
                     std::optional<std::uint64_t> tail_bytes = {});

template <typename Builder>
void take_ends(const StreamEnds& ends, Builder& builder) {
  EventParser parser;
  take_lines(ends.head, parser, builder);
  if (ends.whole) return;
  builder.skip();
  take_lines(ends.attempt, parser, builder);
  take_lines(ends.tail, parser, builder);
}

}  // namespace isobar
