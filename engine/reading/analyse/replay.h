#pragma once
// A run that is over, played again as a live one: its lines come into another run folder when they came to
// be, and whatever reads run folders watches. By the clock of core/waiting.h.
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

#include "analyse/timed_lines.h"
#include "launch/private_folder.h"
#include "record/run_owner.h"

namespace isobar {

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
/// they are but for the lines that begin an attempt: these say what is played, and no longer which process
/// wrote it. Pauses between attempts are left out. What carries no time (console, TensorBoard's files,
/// checkpoints, weights) is not played.
class Replay {
 public:
  /// Makes the folder `into`. Error (exit code 2) when `run` is none, still goes on or has no stream, or when
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
