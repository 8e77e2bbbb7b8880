#pragma once
// The all-reduces of a run, message by message, from the spans that its ranks recorded.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "09_all_reduce/view/schedule.h"
#include "log/run_files.h"
#include "log/spans.h"

namespace isobar::lesson_09 {

/// What the window lists of a run.
inline constexpr std::size_t kMostScheduleChoices = 1000;

/// One collective of one step.
struct ScheduleChoice {
  std::int64_t step = 0;
  std::string of;  ///< "all_reduce", "bucket.0"

  bool operator==(const ScheduleChoice&) const = default;
};

enum class RunGoesOn { no, yes };

class ScheduleRun {
 public:
  /// Reads the spans of all ranks, each file once. Error (exit code 2) for a run without any, without an
  /// all-reduce whose steps are told (so of one rank, or of another backend than ours), or of more ranks than
  /// the view has room for. Of a run that goes on only what is whole on all ranks is there.
  explicit ScheduleRun(const std::filesystem::path& run, RunGoesOn goes_on = RunGoesOn::no);

  /// In order of their steps, the first kMostScheduleChoices.
  const std::vector<ScheduleChoice>& choices() const { return choices_; }
  /// All-reduces beyond.
  std::size_t left_out() const { return left_out_; }
  /// Error (exit code 2) for one that is none of them, without a message between ranks, of more steps or
  /// messages than the view has room for, and for ranks that form several rings. Of start values those of
  /// lesson 09's first step are known.
  Schedule schedule(const ScheduleChoice& choice) const;

 private:
  struct Row {
    SpanRow span;
    int rank = 0;
    bool is_training = false;  ///< of the ring with which runs train, not of lesson 09
    CollectivePhase phase = CollectivePhase::reduce;
  };
  using Key = std::pair<std::int64_t, std::string>;  // the step, and the collective
  /// False where the rank has no spans at all.
  bool read_rank(const std::filesystem::path& run, int rank);
  void check_ranks() const;
  void list_choices(RunGoesOn goes_on);
  bool is_whole(const ScheduleChoice& choice) const;
  /// Of the first call in that step, times on one clock.
  std::vector<Row> rows_of(const ScheduleChoice& choice) const;
  Schedule made(const ScheduleChoice& choice) const;
  void check_room(const Schedule& schedule, std::size_t messages) const;

  std::string where_;
  ConfigText config_;
  int ranks_ = 0;
  std::map<Key, std::vector<Row>> rows_;  ///< rank by rank, each in the order of its file
  std::vector<std::int64_t> last_steps_;  ///< by rank: the latest of which it tells; -1 = none
  std::vector<ScheduleChoice> choices_;
  std::size_t left_out_ = 0;
};

/// The first collective of step `step`.
Schedule read_schedule(const std::filesystem::path& run, std::int64_t step);

}  // namespace isobar::lesson_09
