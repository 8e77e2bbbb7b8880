#pragma once
// Writes what a run does to its folder and prints it: steps, scores, the recording of a graph.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "faults/step_faults.h"
#include "record/run_summary.h"
#include "run/gradient_guard.h"
#include "run/progress.h"
#include "run/rank_groups.h"
#include "run/run_output.h"
#include "run/run_plan.h"
#include "run/step.h"
#include "run/step_figures.h"
#include "run/step_probes.h"
#include "run/training_sums.h"
#include "train/evaluate.h"
#include "train/step_graph.h"
#include "train/training_state.h"

namespace isobar {

class Recorder {
 public:
  /// All of these outlive it.
  Recorder(const RunPlan& plan, RankGroups& groups, RunOutput& output, Progress& progress);

  RunOutput& output() { return output_; }

  Step begin_step();

  bool scores_due() const { return progress_.scores_due(); }
  /// A live line for something long that is no step, such as "validating"; the function returns false after
  /// a request to stop.
  std::function<bool(std::int64_t, std::int64_t)> live(const std::string& what);
  /// Records scores on the validation set. An incomplete evaluation is left out.
  void record(const Evaluation& evaluation);

  /// Every amp.histogram_every steps: how large the gradients are, with the loss scale in them. Waits for the
  /// device, and belongs to no stage.
  void record_gradient_sizes(Step& step);

  /// Says what was recorded of a step. Steady state begins after it: steps before it were launched one by
  /// one.
  void record(const GraphFacts& graph);

  // For the values beside it.
  /// What is trained, from here on, and who guards it; both outlive it.
  void follow(const Training& training, const GradientGuard& guard);
  /// To be called when `training` and `guard` are gone, or about to be.
  void release();
  /// Something that is no step goes on: for errors, for other ranks that wait, and for mistakes on purpose.
  void begin_phase(const char* name);
  /// What goes on: a stage of a step, or such a phase.
  const std::string& phase() const { return phase_; }
  /// Records steps in their order as far as the device has done them, or all of them.
  void record_done_steps(bool wait_for_all);
  /// Writes what the recorded step held in memory into the run folder; nothing where no step was recorded.
  void write_memory() const;
  /// The summary of what was done so far.
  RunSummary summary() const;
  void put_into(CheckpointState& state) const;

 private:
  friend Step;
  /// A step that the host is done with; the device may still be at it.
  struct PendingStep {
    std::int64_t index;
    StepResult result;
    FetchedFigures fetched;  ///< to be taken once the times are ready; false when no report is due
    PendingStageTimes times;
    std::int64_t t_us;                         ///< since the run began, when the host was done
    LoaderCounts loader;                       ///< what the loader did for it
    std::shared_ptr<OperatorWatch> operators;  ///< set in the one step that is watched, else null
  };

  void entered(Stage stage);
  void finished(std::int64_t index, const StepResult& result, StageTimer& timer);
  /// The third step, or the last of the warm-up.
  bool watches_operators(std::int64_t index) const { return index == watched_step(); }
  std::int64_t watched_step() const;  ///< -1 = none
  /// An early one that is not watched (device/memory_recorder.h).
  bool records_memory(std::int64_t index) const;
  /// The loss and what else a step left on its device, on its way to host memory; on a CUDA device when a
  /// report is due.
  FetchedFigures fetch_figures(std::int64_t index, const StepResult& result);
  /// The mean over the ranks, which is the loss of the batch.
  at::Tensor loss_of_all(const at::Tensor& loss);
  /// What the loader did since the last step; `ready` and `slots` are those of now.
  LoaderCounts loader_since_last_step();
  void record_step(const PendingStep& step, const DeviceTimes& times);
  /// `tells`: with the fields of a report.
  void add_figures(JsonLine& line, const PendingStep& step, const StepFigures& figures, bool tells);
  void write_operators(std::int64_t index, JsonLine& step, const OperatorRecord& record);
  void show_step(std::int64_t index, const StepResult& result);

  const RunPlan& plan_;
  RankGroups& groups_;
  RunOutput& output_;
  Progress& progress_;
  StepProbes probes_;
  std::optional<StepFaults> faults_;  ///< once it is known what is trained
  const Training* training_ = nullptr;
  const GradientGuard* guard_ = nullptr;
  LoaderCounts loader_before_;  ///< counts at the end of the last step
  std::string phase_ = "start";
  std::int64_t live_begin_us_ = 0;
  std::deque<PendingStep> pending_;
  RunSummary summary_;
  TrainingSums sums_;
  std::int64_t shown_us_ = 0;
  double last_loss_ = 0;
  std::int64_t memory_step_ = 0;  ///< the one whose memory is recorded
};

}  // namespace isobar
