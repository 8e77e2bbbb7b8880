#pragma once
// A run of a lesson that stands alone: no libtorch, no data set, ranks over shared memory. What its page is
// given, and what main does around it.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "running/run_journal.h"
#include "running/run_main.h"
#include "running/run_ranks.h"
#include "running/signals.h"
#include "running/stage_clock.h"
#include "running/steady_sums.h"
#include "running/step.h"
#include "running/stop_vote.h"

namespace isobar {

class StandaloneRun;

/// What a step of such a page hands over when it ends.
struct StandaloneResult {
  std::optional<double> loss = {};  ///< mean over this rank's samples; nullopt where nothing is fitted
  double lr = 0;
  std::int64_t samples = 0;  ///< this rank's
  std::int64_t epoch = 0;
  std::vector<std::pair<const char*, double>> figures = {};  ///< further fields of the step's line
};

/// The exchange of losses between ranks belongs to no stage.
using StandaloneStep = StepOf<StandaloneRun, StageClock, StandaloneResult>;

class StandaloneRun {
 public:
  /// Takes the configuration, meets the other ranks and begins the journal. Errors as of `load_config`,
  /// `RingGroup` and `take_run_folder`. `start` outlives it.
  explicit StandaloneRun(const RunStart& start);

  const Config& config() const { return page_config_; }  ///< with the mistake of run.fault in it
  RunRanks& ranks() { return *ranks_; }

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
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
  bool goes_on() const { return !is_complete() && vote_.signal() == 0; }
  StandaloneStep begin_step();

  /// Ends the journal, prints the outcome and returns the exit code. For `run_standalone`.
  int finish();
  void fail(const Error& error) noexcept;

 private:
  friend StandaloneStep;
  const Config& asked() const { return loaded_.config; }
  bool is_complete() const { return summary_.steps >= asked().train.steps; }
  void meet();
  void entered(Stage stage);
  void finished(std::int64_t index, const StandaloneResult& result, const StageClock& clock);
  RunSummary summary() const;

  StopSignals signals_;
  Console console_;
  const RunStart& start_;
  LoadedConfig loaded_;
  Config page_config_;
  bool followed_ = false;
  std::unique_ptr<RingGroup> group_;
  std::unique_ptr<RunRanks> ranks_;
  std::unique_ptr<RunJournal> journal_;
  StopVote vote_;
  RunSummary summary_;  ///< counts and losses of the steps so far, without means
  SteadySums sums_;     ///< all steps but the first, which meets cold memory
};

/// `main` of such a lesson: makes the run, calls `page`, and turns the outcome into an exit code
/// (core/error.h; 128 + signal after a stop on request, since there is no checkpoint).
int run_standalone(const std::string& lesson, int argc, char** argv, void (*page)(StandaloneRun&));

}  // namespace isobar
