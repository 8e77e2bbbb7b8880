#pragma once
// Runs of one lesson with some settings that differ, or of several lessons with the same, in turn
// (A B C A B C ...), as processes of their own whose figures are read from the run folders they leave; and
// what the command lines of these share: a lesson, its settings, and how much is measured. `demo`, `quartet`,
// `sweep`, `ladder`, `scale` and `quiz` are uses of it.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/figure.h"
#include "analyse/spread.h"
#include "analyse/steady.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "core/error.h"
#include "launch/supervise.h"
#include "record/console.h"

namespace isobar {

struct MeasuredPoint {
  std::string name;                       ///< run.point, and what progress calls it
  std::vector<std::string> sets;          ///< "key=value", over the settings of all
  std::optional<LessonInfo> lesson = {};  ///< in a ladder: this one instead of the plan's
  bool whole = false;                     ///< this one trains to its end, whatever the others do
  std::string preset = "";                ///< its own preset; "" = that of all
  std::int64_t times = 0;                 ///< how often it runs; 0 = as often as the others
  bool for_times = false;                 ///< useless where other programs disturb it
  std::optional<int> fails = {};          ///< the exit code that it ends with on purpose
  std::vector<std::filesystem::path> runs = {};
  Repeats repeats = {};
  std::vector<double> wall_s = {};  ///< how long each took, its start included
  std::string failure = "";         ///< error of a run that failed; the point is not run again
  int code = 0;                     ///< exit code of that run

  Spread rate() const { return rates(repeats); }
  /// Over the repeats, the median of a field's last value (of figures that only some steps have), of its mean
  /// over steady steps, and of its share of the steps' time; nothing when no step has it.
  std::optional<double> last(std::string_view name) const;
  std::optional<double> field(std::string_view name) const;
  std::optional<double> share(std::string_view name) const;
  /// Over the repeats, of any figure that a run's summary holds.
  Spread figures(double RunSummary::*figure) const;
  /// Its run folders, why it failed, and its rate with the spread and `mark` behind it; what is not known is
  /// left out.
  void add_to(Row& row, const std::string& mark = "") const;
  Json folders_json() const;
};

/// One run to be started.
struct WantedRun {
  std::filesystem::path program;
  std::filesystem::path folder;
  Settings settings;
  std::int64_t ranks = 1;
};

/// Starts a run and waits for it; `tick` is to be called a few times a second meanwhile, and signals to stop
/// are passed on.
using StartRun = std::function<Ended(const WantedRun& run, const std::function<void()>& tick)>;

/// Starts processes of this machine.
Ended start_here(const WantedRun& run, const std::function<void()>& tick);

/// Most points of one sweep.
inline constexpr std::size_t kMostPoints = 1000;

struct MeasurePlan {
  std::string command;  ///< "quartet", "sweep", ...
  MeasureArguments arguments;
  bool stop_at_failure = true;  ///< else the other points continue
  StartRun start = start_here;
  bool elsewhere = false;  ///< on other machines, so this one need not be able to
};

class MeasuredRuns {
 public:
  /// Checks the configuration of every point (Error, exit code 2, before anything runs) and that the lesson
  /// can run here.
  MeasuredRuns(MeasurePlan plan, std::vector<MeasuredPoint> points);

  /// Runs all of it below runs/. 0, or the exit code of the first run that failed; 130 or 143 as soon as a
  /// signal asks to stop: the run under way then ends first, and no other begins.
  int run();

  const std::vector<MeasuredPoint>& points() const { return points_; }
  /// The configuration of point `i` that its program will have.
  const LoadedConfig& config(std::size_t i) const { return configs_[i]; }
  const std::string& group() const { return group_; }  ///< run.group of all of them
  bool was_stopped() const { return stopped_; }        ///< by a signal, so that some runs are missing
  bool was_disturbed() const { return disturbed_; }    ///< those for times were left out from there on
  const RunView* first_view() const;  ///< view of the first run that is there; null without any
  std::string device() const;         ///< device of that run, else "this machine"

 private:
  const LessonInfo& lesson_of(const MeasuredPoint& point) const {
    return point.lesson ? *point.lesson : plan_.arguments.lesson;
  }
  bool is_whole(const MeasuredPoint& point) const { return point.whole || plan_.arguments.whole; }
  Settings settings_of(const MeasuredPoint& point) const;
  int prepare_data();
  int run_once(MeasuredPoint& point, const Config& config, std::int64_t repeat);
  std::int64_t times_of(const MeasuredPoint& point) const {
    return point.times > 0 ? point.times : plan_.arguments.repeats;
  }
  bool is_left_out(const MeasuredPoint& point) const { return disturbed_ && point.for_times; }
  int take_failure(MeasuredPoint& point, const std::filesystem::path& folder, int code,
                   const std::string& said);
  void show(const MeasuredPoint& point, std::int64_t repeat, double since_s, bool begins);
  /// Seconds that the runs still to come will take, -1 while nothing is known.
  double left_s() const;

  MeasurePlan plan_;
  std::vector<MeasuredPoint> points_;
  std::vector<LoadedConfig> configs_;
  std::string group_;
  Console console_;
  std::size_t done_ = 0;
  bool stopped_ = false;
  bool disturbed_ = false;
};

/// Runs whose training loop had to wait for a processor, which makes their rates too low.
struct SharedProcessors {
  std::size_t runs = 0;
  std::size_t of = 0;
  double most_wait = 0;  ///< RunSummary::processor_wait
};
SharedProcessors shared_processors(const MeasuredRuns& runs);

/// What begins every JSON object: {`command`: `what`, preset, device, provenance, group, steps, repeats,
/// stopped, crowded_runs}.
Json head_json(const std::string& command, const std::string& what, const Json& steps,
               const MeasuredRuns& runs, const MeasureArguments& arguments);

/// What stands below every table: that processors were shared, where they were, and how to find the runs.
void add_end(Report& report, const MeasuredRuns& runs, const std::string& what);

/// Writes a file into a folder below runs/ that is named after the group; where it lies.
std::filesystem::path write_in_group(const MeasuredRuns& runs, const std::string& name,
                                     const std::string& text);

/// The settings of what was measured in one line: lesson, preset, device, steps and repeats, which are called
/// `what` ("trial").
std::string measured_what(const MeasuredRuns& runs, const MeasureArguments& arguments,
                          const std::string& what);

}  // namespace isobar
