#pragma once
// A run that is over, played again as a live one: its lines come into another run folder when they came to
// be, and whatever reads run folders watches. By the clock of core/waiting.h.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "launch/private_folder.h"
#include "log/event.h"
#include "record/run_owner.h"

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
  std::uint64_t offset_ = 0;  ///< place in the file behind `bytes_`
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
  std::int64_t scored_step = -1;  ///< step of an evaluation; -1 = it is none
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
    std::int64_t from_wall_us = 0;  ///< wall time of the attempts before
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
  std::int64_t begin_us_ = 0;  ///< begin of that attempt
  std::int64_t end_us_ = 0;    ///< end of what was taken
  std::optional<TimedLine> next_;
};

inline constexpr double kLeastSpeed = 0.001;
inline constexpr double kMostSpeed = 1'000'000;

/// "20x", "0.5x" or "20". Error (exit code 2) of `where` for anything else, and beyond these bounds.
double parse_speed(const std::string& text, const std::string& where);

/// The last part of its path, of "runs/one/" and "." too.
std::string name_of_run(const std::filesystem::path& run);

struct ReplayOptions {
  double speed = 1;
  bool with_fields = true;  ///< maps too, which may be large
};

/// Streams, spans, run.toml and those of later attempts, note.txt and fields/ of all ranks. Bytes stay what
/// they are but for the lines that begin an attempt: these name what is played, in place of the process
/// that wrote it. Pauses between attempts are left out. What carries no time (console, TensorBoard's files,
/// checkpoints, weights) is not played.
class Replay {
 public:
  /// Makes the folder `into`. Error (exit code 2) when `run` is none, still runs or has no stream, or when
  /// something is at `into`; exit code 1 when it cannot be made.
  Replay(const std::filesystem::path& run, const std::filesystem::path& into, const ReplayOptions& options);

  /// Returns when all is played, or `stop` was asked for: then what was played stays, as of a run that died.
  /// Once only. Error (exit code 1) when it cannot be written.
  void play(const std::stop_token& stop);

  const std::filesystem::path& folder() const { return into_; }
  const std::filesystem::path& source() const { return run_; }

 private:
  void play_lines(const std::stop_token& stop);
  void take(const TimedLine& line);
  void write_waiting();
  void copy_beside(const std::filesystem::path& name);
  std::string marked(const std::string& line) const;

  std::filesystem::path run_, into_;
  ReplayOptions options_;
  TimedLines lines_;
  RunOwner owner_;
  std::map<std::size_t, std::string> waiting_;  ///< by file: due, and not written yet
  std::size_t waiting_bytes_ = 0;
};

/// Plays from when it is made, in a thread of its own.
class ReplayThread {
 public:
  explicit ReplayThread(Replay& replay);
  /// Stops it.
  ~ReplayThread() { stop(); }
  ReplayThread(const ReplayThread&) = delete;
  ReplayThread& operator=(const ReplayThread&) = delete;

  bool is_over() const { return over_; }
  bool failed() const { return over_ && failure_ != nullptr; }
  /// Returns when it is over.
  void stop();
  /// Once it is over: throws what went wrong.
  void rethrow() const;

 private:
  std::exception_ptr failure_;
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

/// A run folder that only its user can read, gone with this; one of a process that was killed goes with the
/// next.
class PrivateRunFolder {
 public:
  /// Called like `run`; it is not there yet.
  explicit PrivateRunFolder(const std::filesystem::path& run);

  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateFolder folder_;
  std::filesystem::path path_;
};

}  // namespace isobar
