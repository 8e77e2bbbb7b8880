#pragma once
// Where a run leaves its facts: its folder, the streams in it, and what other processes see of it.
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launch/rank_status.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_owner.h"
#include "record/run_summary.h"
#include "record/span_writer.h"
#include "record/stream_writer.h"
#include "run/board.h"
#include "run/rank_groups.h"
#include "run/run_plan.h"

namespace isobar {

class RunOutput {
 public:
  /// Makes or takes the run folder (`run_dir`, or the one that is resumed; both empty: a new one below
  /// runs/), and writes run.toml and the first line of the stream. `command` is kept there. `console`
  /// outlives it.
  RunOutput(const RunPlan& plan, RankGroups& groups, Console& console, const std::filesystem::path& run_dir,
            const std::vector<std::string>& command);

  const RunFolder& folder() const { return folder_; }
  int attempt() const { return attempt_; }
  Console& console() { return console_; }
  void write(const JsonLine& line) { stream_->write(line); }
  /// Returns when no line written so far can be lost.
  void flush() { stream_->flush(); }
  SpanWriter& spans() { return *spans_; }
  Board* board() { return board_.get(); }  ///< of rank 0; null on others
  StatusSlot& status() { return status_; }
  std::int64_t since_begin_us() const;
  std::int64_t begin_us() const { return begin_us_; }

  /// A span on track "loop" from `begin_us` (steady clock) until now, of what is no step and lies before
  /// `step`.
  void trace_loop(std::string_view name, std::int64_t begin_us, std::int64_t step);

  /// Throws what there is to say when the folder was moved or removed; `soon` waits for no file system and
  /// hears of it with the next sign of life.
  void check_owned(bool soon) const;
  std::optional<Error> lost() const { return owner_.lost(); }

  /// Writes the summary and the `end` line, once. Returns what kept spans from being written, told when all
  /// else is done; null when nothing did.
  std::exception_ptr end(const std::string& status, const std::string& reason, const RunSummary& whole);

 private:
  void take_folder(const RunPlan& plan, Comm& world, const std::filesystem::path& run_dir);
  void begin_streams(const RunPlan& plan, int rank, bool silent);
  void write_begin(const RunPlan& plan, const Comm& world);

  Console& console_;
  RunFolder folder_;
  RunOwner owner_;
  int attempt_ = 0;
  std::unique_ptr<StreamWriter> stream_;
  std::unique_ptr<SpanWriter> spans_;
  std::unique_ptr<Board> board_;
  StatusSlot status_;
  std::int64_t begin_us_ = 0;
  bool ended_ = false;
};

}  // namespace isobar
