#pragma once
// The metric stream of a run as events. One line is a flat JSON object whose numbers may be the strings
// "nan", "inf" and "-inf".
#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/stage.h"
#include "record/stream_reader.h"

namespace isobar {

struct EventField {
  std::string_view key;
  std::variant<double, bool, std::string_view> value;

  /// The value as a number, those three strings included; false when it is none.
  bool number(double& out) const;
};

/// Fields in the order of the line. Nested objects and arrays are left out. Views are valid until the parser
/// takes the next line.
class Event {
 public:
  const std::vector<EventField>& fields() const { return fields_; }
  const EventField* find(std::string_view key) const;

  std::string_view kind() const { return raw_text("kind"); }
  double number(std::string_view key, double otherwise = 0) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise = 0) const;
  /// False when the key is no truth value.
  bool flag(std::string_view key) const;
  /// Text with control characters replaced and cut to 2,000 bytes; "" when the key is no string.
  std::string text(std::string_view key) const;

 private:
  friend class EventParser;
  std::string_view raw_text(std::string_view key) const;
  std::vector<EventField> fields_;
};

/// How an attempt at a run begins: its `run` event.
struct Attempt {
  explicit Attempt(const Event& event);

  std::int64_t number;        ///< 0 = the first
  std::int64_t from_step;     ///< step of the checkpoint that it resumed
  std::int64_t from_samples;  ///< trained on by all ranks by then; -1 = not known
  double from_wall_s;         ///< wall time of the attempts before
  std::int64_t world;         ///< ranks that train together, at least 1
  std::int64_t replicas;      ///< models that they hold, at most as many
};

/// The keys under which an event holds the times of the stages: "load_us" and so on, by Stage.
inline const std::array<std::string, kStageNames.size()> kStageKeys = [] {
  std::array<std::string, kStageNames.size()> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::string(kStageNames[i]) + "_us";
  return out;
}();

class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(EventParser&&) noexcept;
  EventParser& operator=(EventParser&&) noexcept;

  /// Null when the line is no JSON object, or one of figures that cannot be: a time or count below zero.
  const Event* parse(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  Event event_;
};

/// A total that a hostile stream cannot make overflow: it ends at `most`. `integer` gives at most 9e15, up to
/// which a double is exact.
std::int64_t sum_of(std::int64_t total, std::int64_t more, std::int64_t most = 9'000'000'000'000'000);

/// Gives a line to `builder`: a function of an Event, or of an Event and its line, or an object with such a
/// function `take` and, where it cares, `count_unread()` for lines that are no events and `clear()` for a
/// file that was replaced.
template <typename Builder>
void take_line(std::string_view line, EventParser& parser, Builder& builder) {
  if (const Event* const event = parser.parse(line); event != nullptr) {
    if constexpr (std::invocable<Builder&, const Event&, std::string_view>) {
      builder(*event, line);
    } else if constexpr (std::invocable<Builder&, const Event&>) {
      builder(*event);
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
  void read_all(Builder&& builder) {
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

}  // namespace isobar
