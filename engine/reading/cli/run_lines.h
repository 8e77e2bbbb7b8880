#pragma once
// Lines about a run, while it runs too.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/report.h"
#include "log/run_reader.h"
#include "record/console.h"

namespace isobar {

/// "after 128 steps  loss 0.2944  u10m RMSE 0.2481 ..."
std::string scores_line(const RunScores& scores);

/// "step 40/900  epoch 1  loss 0.3113  150.2 samples/s  12 s left  load 4 %, ..."
std::string live_line(const RunView& view);

/// "[fault no_shuffle] [disk of 290 MB/s] ", "" for a plain run.
std::string marks_text(const RunView& view);

/// "NN_name-20261121-010208-7295  died: its stream has no end; last sign 4 min ago"
std::string head_line(const RunReader& reader);

/// All that `show RUN` prints. `where` is the folder to name, which of a replay need not be the one that is
/// read; "" = that one.
Report run_report(const RunReader& reader, const std::filesystem::path& where = {});
Report run_report(const std::filesystem::path& run);

/// Event files of another program: how many values each tag has, its first, its last.
Report event_report(const std::filesystem::path& folder);

/// Tells each score of a run, and from time to time where it is.
class RunTeller {
 public:
  RunTeller(RunReader& reader, Console& console, std::int64_t every_us, const char* indent = "")
      : reader_(reader), console_(console), every_us_(every_us), indent_(indent) {}

  /// Takes what the stream got since the last call.
  void look();

 private:
  RunReader& reader_;
  Console& console_;
  std::int64_t every_us_;  ///< between two lines of where it is
  const char* indent_;
  std::size_t told_ = 0;
  std::optional<std::int64_t> shown_us_;
};

struct FollowUntil {
  std::function<bool()> more_comes =
      {};                           ///< although the stream has its end: another attempt, or another rank
  std::function<bool()> stop = {};  ///< asked ten times a second
};

/// Prints each score and now and then where the run is, until it is over; false when `stop` was true before.
bool follow_run(RunReader& reader, Console& console, const FollowUntil& until = {});

bool is_over(const RunView& view);

}  // namespace isobar
