#pragma once
// The lines of all streams of a run, of every rank and of its spans, in the order in which they came to be.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "analyse/event.h"

namespace isobar {

/// A file as pieces of at most 1 MiB: its lines with their newlines, behind them what has none. It is opened
/// for each look, so that a run may have any number of files.
class FileLines {
 public:
  explicit FileLines(std::filesystem::path path) : path_(std::move(path)) {}

  /// False at the end of what is there.
  bool next(std::string& line);

 private:
  bool read_more();

  std::filesystem::path path_;
  std::uint64_t offset_ = 0;  ///< of the file, behind `bytes_`
  std::string bytes_;
  std::size_t at_ = 0;  ///< in `bytes_`: what is before it was given out
};

struct TimedLine {
  std::size_t file = 0;    ///< place in `files()`
  std::int64_t at_us = 0;  ///< since the run began
  std::string text;        ///< with its newline, where it has one
  // What an event says that other files of the run go by.
  bool begins_attempt = false;
  std::int64_t attempt = 0;
  std::int64_t scored_step = -1;  ///< of an evaluation; -1 = it is none
};

/// Steps, evaluations and what else has `t_us` have their time; spans that of their end; a `summary` that at
/// which the run was over. What has no time goes with the line before it in its file. Times of an attempt
/// count from where the longest stream of the attempt before it ends: nothing ran in between.
class TimedLines {
 public:
  /// Streams and spans in the folder. Error (exit code 2) when there is none.
  explicit TimedLines(const std::filesystem::path& run);

  /// Names in the run folder.
  const std::vector<std::filesystem::path>& files() const { return names_; }
  /// The earliest line that was not taken yet; null at the end.
  const TimedLine* next();
  void take();

 private:
  /// One file, stopped in front of a line.
  struct Stream {
    FileLines lines;
    TimedLine line;                 ///< `at_us` since its attempt began
    std::int64_t from_wall_us = 0;  ///< of the attempts before
    bool begun = false;
  };
  void step(std::size_t file);
  void judge(Stream& stream);

  std::vector<std::filesystem::path> names_;
  std::vector<Stream> streams_;
  EventParser parser_;
  using Place = std::tuple<std::int64_t, std::int64_t, std::size_t>;  ///< attempt, time in it, file
  std::priority_queue<Place, std::vector<Place>, std::greater<>> order_;
  std::int64_t attempt_ = 0;
  std::int64_t begin_us_ = 0;  ///< of that attempt
  std::int64_t end_us_ = 0;    ///< of what was taken
  std::optional<TimedLine> next_;
};

}  // namespace isobar
