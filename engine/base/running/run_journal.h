#pragma once
// Where a run leaves its facts: its folder, the streams in it, and what other processes see of it.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "core/error.h"
#include "launch/rank_status.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_owner.h"
#include "record/run_summary.h"
#include "record/span_writer.h"
#include "record/stream_writer.h"
#include "record/tfevents_writer.h"
#include "running/stage_clock.h"

namespace isobar {

/// The folder of a run, of which rank 0 is the owner.
struct JournalFolder {
  RunFolder folder;
  int attempt = 0;      ///< how often the run was resumed
  RunOwner owner = {};  ///< held by rank 0
};

/// What the streams of one rank begin with.
struct JournalStart {
  int rank = 0;
  bool silent = false;          ///< it writes nothing
  std::int64_t first_step = 0;  ///< the attempt's first step
};

class RunJournal {
 public:
  /// Begins the streams. `console` outlives it.
  RunJournal(Console& console, JournalFolder folder, const RunConfig& run, const JournalStart& start);

  const RunFolder& folder() const { return folder_.folder; }
  int attempt() const { return folder_.attempt; }
  Console& console() { return console_; }
  void write(const JsonLine& line) { stream_->write(line); }
  /// Returns when no line written so far can be lost.
  void flush() { stream_->flush(); }
  SpanWriter& spans() { return *spans_; }
  StatusSlot& status() { return status_; }
  TfEventsWriter* events() { return events_.get(); }  ///< for TensorBoard; rank 0's, null on others
  std::int64_t since_begin_us() const;
  std::int64_t begin_us() const { return begin_us_; }

  /// Spans of stages, where those of `step` are kept.
  void trace(std::string_view track, std::int64_t step, const std::vector<StageInterval>& intervals);
  /// A span on track "loop" from `begin_us` (steady clock) until now, of what is no step and lies before
  /// `step`.
  void trace_loop(std::string_view name, std::int64_t begin_us, std::int64_t step);

  /// Throws an Error when the folder was moved or removed. With `soon` it does not wait for the file system
  /// and notices with the next sign of life.
  void check_owned(bool soon) const;
  std::optional<Error> lost() const { return folder_.owner.lost(); }

  /// Writes the summary and the `end` line, once. Returns the error that kept spans from being
  /// written, to be reported after all else is done; null without one.
  std::exception_ptr end(const std::string& status, const std::string& reason, const RunSummary& whole);

 private:
  Console& console_;
  JournalFolder folder_;
  std::unique_ptr<StreamWriter> stream_;
  std::unique_ptr<SpanWriter> spans_;
  std::unique_ptr<TfEventsWriter> events_;
  StatusSlot status_;
  std::int64_t begin_us_ = 0;
  bool ended_ = false;
};

/// The first line of a stream, as far as every run has it.
JsonLine begin_line(const std::string& lesson, const LoadedConfig& loaded, int attempt, int rank, int world);

/// The line of a step, as far as every run has it; `t_us` since the run began, `samples` of this rank. With
/// `host` the stages are also there as they were on the host's clock.
JsonLine step_line(std::int64_t step, std::int64_t t_us, std::int64_t epoch, std::int64_t samples,
                   const StageTimes& times, const StageTimes* host = nullptr);

}  // namespace isobar
