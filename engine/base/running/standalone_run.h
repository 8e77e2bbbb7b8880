#pragma once
// A run of a lesson that stands alone: no libtorch, no data set, ranks over shared memory. What its page is
// given, and what main does around it.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "config/fault.h"
#include "core/stage.h"
#include "launch/rank_environment.h"
#include "record/tfevents_writer.h"
#include "running/run_journal.h"
#include "running/run_ranks.h"
#include "running/signals.h"

namespace isobar {

class StandaloneRun;

/// One step of a page, which enters stages and gives the results at the end.
class StandaloneStep {
 public:
  std::int64_t index() const { return index_; }  ///< from 0
  /// Stands in front of what it times; may be called any number of times.
  void enter(Stage stage);
  /// Ends the stage: time until the next one belongs to none.
  void leave();
  std::int64_t stage_us(Stage stage) const { return stage_us_[static_cast<std::size_t>(stage)]; }

  struct Result {
    std::optional<double> loss = {};  ///< mean over this rank's samples; nullopt where nothing is fitted
    double lr = 0;
    std::int64_t samples = 0;  ///< this rank's
    std::int64_t epoch = 0;
    std::vector<std::pair<const char*, double>> figures = {};  ///< further fields of the step's line
  };
  /// Ends the step and records it. The exchange of losses between ranks belongs to no stage.
  void finish(const Result& result);

 private:
  friend class StandaloneRun;
  StandaloneStep(StandaloneRun& run, std::int64_t index);
  void close(std::int64_t now_us);

  struct Interval {
    std::size_t stage;
    std::int64_t begin_us, end_us;
  };

  static constexpr std::size_t kNone = kStageNames.size();
  StandaloneRun& run_;
  std::int64_t index_;
  std::int64_t begin_us_;
  std::int64_t since_us_;
  std::size_t stage_ = kNone;
  std::array<std::int64_t, kNone> stage_us_{};
  std::array<bool, kNone> entered_{};
  std::vector<Interval> intervals_;  ///< filled where the step's spans are kept
};

class StandaloneRun {
 public:
  /// Takes the configuration, meets the other ranks and begins the journal. Errors as of `load_config`,
  /// `RingGroup` and `take_run_folder`.
  StandaloneRun(const LessonInfo& lesson, const RunArguments& arguments,
                const std::vector<std::string>& command);

  const Config& config() const { return page_config_; }  ///< with the mistake of run.fault in it
  RunRanks& ranks() { return *ranks_; }

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  const FaultSetting& fault() const { return fault_; }
  /// Where its ranks meet, for whatever else they share: `followed` makes the run one that gave up because of
  /// another rank.
  RingMeeting meeting();
  /// For what the page traces by itself.
  SpanWriter& spans() { return journal_->spans(); }
  /// The largest of all ranks' values; a collective call.
  double largest(double value);

  /// Prints what is about to be done: the lesson, `lines` of the page's own, ranks, folder and fault.
  void announce(const std::vector<std::string>& lines);
  /// A note of the stream: what is no step's.
  void note(const std::string& text, const std::vector<std::pair<const char*, double>>& figures);
  /// Lines for a person, of rank 0.
  void say(const std::vector<std::string>& lines) { console_.lines(lines); }

  /// True while steps remain and nobody asked to stop; all ranks agree on it.
  bool goes_on() const { return steps_done_ < asked().train.steps && stop_signal_ == 0; }
  StandaloneStep begin_step();

  /// Ends the journal, prints the outcome and returns the exit code. For `run_standalone`.
  int finish();
  void fail(const Error& error) noexcept;

 private:
  friend class StandaloneStep;
  const Config& asked() const { return loaded_.config; }
  void meet(const RunArguments& arguments, const std::vector<std::string>& command);
  void finished(const StandaloneStep& step, std::int64_t step_us, const StandaloneStep::Result& result);
  RunSummary summary() const;

  StopSignals signals_;
  Console console_;
  LessonInfo lesson_;
  RankEnvironment environment_;
  LoadedConfig loaded_;
  FaultSetting fault_;
  Config page_config_;
  bool followed_ = false;
  std::unique_ptr<RingGroup> group_;
  std::unique_ptr<RunRanks> ranks_;
  std::unique_ptr<RunJournal> journal_;
  std::unique_ptr<TfEventsWriter> board_;
  std::int64_t steps_done_ = 0;
  std::int64_t samples_ = 0;
  int stop_signal_ = 0;
  bool has_losses_ = false;
  double first_loss_ = 0;
  double last_loss_ = 0;
  struct {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    std::int64_t us = 0;
    std::array<std::int64_t, kStageNames.size()> stage_us{};
  } steady_;  ///< all steps but the first, which meets cold memory
};

/// `main` of such a lesson: makes the run, calls `page`, and turns the outcome into an exit code
/// (core/error.h; 128 + signal after a stop on request, since there is no checkpoint).
int run_standalone(const std::string& lesson, int argc, char** argv, void (*page)(StandaloneRun&));

}  // namespace isobar
