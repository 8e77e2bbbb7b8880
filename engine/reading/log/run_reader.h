#pragma once
// The log of a run: what the stream of a rank holds, read once, whole while it grows or from its two ends.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "log/event.h"
#include "log/run_series.h"
#include "log/run_view.h"

namespace isobar {

/// Facts of the run, and where they are wanted its steps and evaluations as columns. Takes the events of a
/// stream in order. Unknown kinds and keys are ignored; an unknown schema is an Error (exit code 2) that
/// names `where`.
class RunLog {
 public:
  explicit RunLog(std::string where, bool keeps_columns = false)
      : where_(std::move(where)), keeps_columns_(keeps_columns) {}

  void take(const Event& event);
  void count_unread() { ++view_.unread_lines; }
  /// Begins again: the stream was replaced.
  void clear() { *this = RunLog(where_, keeps_columns_); }
  /// Lines were left out: columns begin behind them, and figures that need all lines stay unknown until the
  /// `summary` line.
  void skip();

  /// Sets state and age by the clock and the process table; `silence_s` is how long ago the stream grew.
  /// Below zero, clocks differ: that is marked. A replay is live as long as its `folder` has an owner: the
  /// process named in its stream is that of the run it plays.
  void judge(double silence_s, const std::filesystem::path& folder = {});

  const RunView& view() const { return view_; }
  RunSeries& series() { return series_; }
  const RunSeries& series() const { return series_; }
  /// With columns: the largest that the newest attempt recorded; nullopt where it recorded none.
  std::optional<double> peak_bytes() const { return peak_bytes_; }

 private:
  void take_run(const Event& event);
  void take_note(const Event& event);
  void take_graph(const Event& event);
  void take_memory(const Event& event);
  void take_step(const Event& event);
  void take_eval(const Event& event);
  void take_summary(const Event& event);
  void take_columns(const Event& event);
  void forget_speed();

  std::string where_;
  bool keeps_columns_;
  RunView view_;
  RunSeries series_;
  std::optional<double> peak_bytes_;
  bool partial_ = false;
  bool ended_ = false;
  double earlier_wall_s_ = 0;  ///< wall time of the attempts before it
  std::int64_t steady_steps_ = 0;
  std::int64_t steady_samples_ = 0;
  double steady_us_ = 0;
  std::array<std::optional<double>, kStageNames.size()> steady_stages_us_;  ///< none = never entered
};

/// Reads rank 0's stream; `update` takes in what was added.
class RunReader {
 public:
  /// With `keep_series`, every value of every step is kept too. Error (exit code 2) when the folder holds no
  /// run.
  explicit RunReader(std::filesystem::path folder, bool keep_series = false);

  /// True when something new was read; at most 16 MiB a call.
  bool update();
  void read_all() {
    while (update()) {
    }
  }
  const RunView& view() const { return log_.view(); }
  RunSeries& series() { return log_.series(); }
  const std::filesystem::path& folder() const { return folder_; }
  /// How often the stream was replaced by another while it was read.
  int restarts() const { return events_.restarts(); }

 private:
  std::filesystem::path folder_;
  EventLog events_;
  RunLog log_;
  bool has_read_ = false;      ///< all that was there at first
  std::int64_t grown_us_ = 0;  ///< when it was last seen to grow after that, on the steady clock
};

/// The log of a rank from the first 16 KiB of its stream, which describe the run, and the last `tail_bytes`;
/// of a resumed run the line with which its newest attempt begins is looked for too. Without `tail_bytes`
/// there are no columns, and the tail is as long as holds the last 16 KiB of events: junk behind them, as a
/// broken file system leaves it, or a line without an end hides them from a look at the last bytes alone.
RunLog read_ends(const std::filesystem::path& folder, int rank = 0,
                 std::optional<std::uint64_t> tail_bytes = {});

/// The view of a run from the two ends of its stream: as good as reading all of it for a run that
/// has its `summary` line, and quick for any. What cannot be known from them stays 0.
RunView glance(const std::filesystem::path& folder);

}  // namespace isobar
