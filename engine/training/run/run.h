#pragma once
// What a lesson holds: its configuration, its run folder, its steps. It writes facts; it does not train.
#include <c10/core/Device.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/comm.h"
#include "config/command_line.h"
#include "config/config.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/memory.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "launch/mesh.h"
#include "launch/rank_environment.h"
#include "launch/rank_status.h"
#include "record/console.h"
#include "record/run_folder.h"
#include "record/run_owner.h"
#include "record/run_summary.h"
#include "record/span_writer.h"
#include "record/stream_writer.h"
#include "run/board.h"
#include "run/resume.h"
#include "run/signals.h"
#include "run/step.h"
#include "train/evaluate.h"
#include "train/step_graph.h"
#include "train/training_state.h"

namespace isobar {

class Run {
 public:
  /// Loads the configuration, makes the run folder and writes run.toml; `command` is kept there.
  Run(const LessonInfo& lesson, const RunArguments& arguments, const std::vector<std::string>& command,
      JoinRanks join_ranks = nullptr);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Config& config() const { return loaded_.config; }
  c10::Device device() const { return device_; }
  /// The ranks that train together; a process alone is a group of one.
  Comm& comm() { return comm_; }
  /// This rank's group along an axis of the mesh (launch/mesh.h): "tp" = the ranks that share its model, "dp"
  /// = those that hold the same piece of their models and average its gradients.
  Comm& group(const std::string& axis);
  Console& console() { return console_; }
  const std::filesystem::path& folder() const { return folder_.path; }
  /// Where the data set is: data.root, or the embedded set of this grid.
  const std::filesystem::path& data_root() const { return data_root_; }

  /// Where loaders tell what their threads do.
  SpanWriter& spans() { return *spans_; }

  /// Says what is about to be trained, on what, and where the run folder is.
  void announce(const Dataset& train, const Dataset& valid, std::int64_t parameters, const Loader& loader);

  /// Brings `training` to where the checkpoint of --resume left off; without one leaves it as it is.
  void resume(const Training& training);

  /// True while steps remain and nobody asked to stop. Saves a checkpoint of `training` first when one is
  /// due: every train.checkpoint_every steps, and at a request to stop. A run that only measures
  /// (run.measure) saves none; with run.measure = io all its steps are made here, each of which gets a batch
  /// and drops it.
  bool goes_on(const Training& training);
  Step begin_step();
  /// All steps are done and scored; false after a stop on request.
  bool complete() const;

  /// Scores are due at the start, after each epoch and at the end, once each; in a run that only measures
  /// never.
  bool scores_due() const;
  /// Records scores on the validation set, after `steps_done()` steps. An incomplete evaluation is left out.
  void record(const Evaluation& evaluation);
  /// Says what was recorded of a step. Steady state begins after it: steps before it were launched one by
  /// one.
  void record(const GraphFacts& graph);
  /// The same as a function.
  std::function<void(const GraphFacts&)> graph_listener() {
    return [this](const GraphFacts& graph) { record(graph); };
  }
  std::int64_t steps_done() const { return steps_done_; }

  /// A live line for something long that is no step; says no when somebody asked to stop.
  std::function<bool(std::int64_t, std::int64_t)> progress(const std::string& what);

  /// Writes the summary and the `end` line, and says how it went. The exit code of the program: done, or 75
  /// after a stop on request, whose checkpoint is complete; 128 + signal where there is none (run.measure).
  int finish();
  /// The same for a run that an error ended. Of several ranks it tells the others whether `error` is only a
  /// consequence of what happened to another one.
  void fail(const Error& error) noexcept;
  /// What another library threw, as an Error that says in which stage.
  Error explained(const std::exception& error) const;

 private:
  friend class Step;
  /// Who is told of steps and stages by name; null on a CPU.
  const CudaPlugin* ranges_plugin() const;
  /// Where the run stands, from the first: an attempt that cannot even begin still says so.
  void take_state(const CheckpointState& state);
  void take_folder(const RunArguments& arguments);
  void write_attempt(const std::vector<std::string>& command);
  void save_checkpoint(const Training& training);
  /// Says how the ranks are joined and, with comm.probe, what their network gives.
  void announce_ranks();
  /// Before the first step that all ranks hold the same parameters, every comm.hash_every steps and at the
  /// end that these are equal to the bit; Error where they are not. Makes the fault flip_bit.
  void check_replicas(const Parameters& parameters);
  /// Of replicas that nobody keeps together: how far their weights are from those of rank 0.
  void tell_apart(const Parameters& parameters);
  /// Whether a key of the configuration means something in this lesson.
  bool honours(const std::string& key) const;
  bool measures() const { return loaded_.config.run.measure != "none"; }
  /// What run.measure = io does instead of training.
  void read_and_drop(Loader& loader);
  /// Losses and gradients must be finite numbers: not where the data is made up to measure by.
  bool guards_values() const { return loaded_.config.run.measure != "synthetic"; }
  /// Before the optimiser touches them: mistakes on purpose go in, the histogram (amp.histogram_every) comes
  /// out. That waits for the device.
  void look_at_gradients(std::int64_t step);
  /// Stops a run whose gradients are not finite before they reach the weights.
  void check_gradients(std::int64_t step);
  /// The same behind an optimiser that looks by itself and left the weights alone then.
  void check_norm(std::int64_t step, const at::Tensor& gradient_norm);
  /// Throws what is wrong with gradients that are not finite; returns where the step is skipped only.
  void tell_broken_gradients(std::int64_t step) const;
  void plant_fault(std::int64_t step, bool in_gradients);
  /// With a scaled loss a gradient that overflowed is no error: its step is skipped.
  bool scales_loss() const { return scaler_ != nullptr && scaler_->active(); }
  /// Stops a run after amp.max_skips skipped steps in a row.
  void check_skips(std::int64_t step, const StepFigures& figures) const;
  /// The fault all_half: what the weights would be if they had 16 bits themselves.
  void round_weights() const;
  bool is_due(std::int64_t index) const;
  /// The loss and what else a step left on its device, on its way to host memory; on a CUDA device when a
  /// report is due. Only the fault that does so waits for it.
  FetchedFigures fetch_figures(std::int64_t index, const StepResult& result);
  /// The mean over the ranks, which is the loss of the batch.
  at::Tensor loss_of_all(const at::Tensor& loss);
  void queue_step(std::int64_t index, const StepResult& result, const FetchedFigures& fetched,
                  PendingStageTimes times, std::shared_ptr<OperatorWatch> operators);
  /// Watches the operators of one step, the third or the last of the warm-up; null in all others.
  std::shared_ptr<OperatorWatch> watch_operators(std::int64_t index) const;
  /// What was seen: totals into the step's line, which is written, and a note for each operator of a module.
  void write_operators(std::int64_t index, JsonLine& step, const OperatorRecord& record);
  /// Records steps in their order as far as the device has done them, or all of them.
  void record_done_steps(bool wait_for_all);
  void record_step(const PendingStep& step, const StageTimes& times);
  /// Spans of a step's stages on tracks "loop" and "device", while they are wanted.
  void trace_host(std::int64_t step, const PendingStageTimes& times);
  void trace_device(std::int64_t step, const PendingStageTimes& times);
  /// A span on track "loop" of what is no step: it lies before step `steps_done()`.
  void trace_loop(std::string_view name, std::int64_t begin_us);
  void show_step(std::int64_t index, const StepResult& result);
  /// Returns what kept spans from being written, told when all else is done; null when nothing did.
  std::exception_ptr end(const std::string& status, const std::string& reason, const RunSummary& whole);
  void add_to_summary(const PendingStep& step, const StageTimes& times);
  /// What the loader did since the last step; `ready` and `slots` are those of now.
  LoaderCounts loader_since_last_step();
  /// The summary of what was done so far.
  RunSummary summary() const;

  // What several ranks do together (run_together.cpp). A process alone does none of it.
  /// Meets the other ranks; what is wrong with this one alone was found before.
  void join(JoinRanks join_ranks);
  /// Error (exit code 2) when ranks were started with different configurations, programs or checkpoints.
  void compare_ranks();
  /// Says which stage begins: for errors, for other ranks that wait, and for faults that strike there.
  void enter_stage(const char* name);
  /// Acts out kill_rank and stop_rank in their stage.
  void strike(const char* stage);
  /// The signal that asked a rank to stop, the same on all ranks: a request is heard one step late so that no
  /// step waits for the answer; `now` waits. 0 = none did.
  int agreed_stop(bool now);
  static void add_sync(JsonLine& step, const SyncFigures& sync);
  void add_to_summary(const SyncFigures& sync);
  void summarise_sync(RunSummary& out, double steps) const;
  bool speaks() const { return comm_.rank() == 0; }
  /// Processes of this machine that share its processors and memory.
  int sharers() const;
  std::int64_t replica_count() const { return replicas(loaded_.config); }
  /// Error (exit code 2) when the axes of the mesh do not fit the ranks.
  Mesh mesh() const;
  /// That the parameters which every rank of a model has whole are equal on them.
  void compare_whole_parameters(const Parameters& parameters);

  /// Refuses a run that the memory cannot hold, before it takes an hour to find out.
  void check_memory();
  /// The prediction by category, as a note.
  void tell_memory_plan();

  StopSignals signals_;
  RankEnvironment ranks_;
  LessonInfo lesson_;
  Resume resume_;
  LoadedConfig loaded_;
  Console console_;
  c10::Device device_;
  StatusSlot status_;
  int threads_ = 1;
  std::string attention_;   ///< what it runs as, in words; "" in a lesson that does not choose
  MemoryPlan memory_plan_;  ///< of this rank
  std::unique_ptr<MemoryPromise> training_memory_;  ///< on a CPU, until the model is there
  std::filesystem::path data_root_;
  RunFolder folder_;
  RunOwner owner_;
  int attempt_ = 0;
  std::unique_ptr<StreamWriter> stream_;
  std::unique_ptr<SpanWriter> spans_;
  std::unique_ptr<Board> board_;
  std::int64_t begin_us_ = 0;
  std::int64_t steps_done_ = 0;
  std::int64_t first_step_ = 0;  ///< of this attempt
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t scored_step_ = -1;        ///< steps done at the last complete evaluation
  std::int64_t checkpoint_step_ = -1;    ///< of the newest checkpoint
  std::string train_data_, valid_data_;  ///< identities of the data sets
  double earlier_wall_s_ = 0;            ///< of the attempts before this one
  const Parameters* parameters_ = nullptr;
  const Optimizer* optimizer_ = nullptr;
  const GradScaler* scaler_ = nullptr;
  const Loader* loader_ = nullptr;
  LoaderCounts loader_before_;                 ///< counts at the end of the last step
  std::string stage_ = "start";                ///< what goes on, for errors that do not say it
  std::unique_ptr<EventPool> events_;          ///< of a CUDA device
  std::unique_ptr<DeviceClock> device_clock_;  ///< of a CUDA device whose spans are wanted
  std::unique_ptr<EpochProfiler> profiler_;
  std::int64_t progress_us_ = 0;  ///< when the last thing with a live line began
  std::deque<PendingStep> pending_;
  at::Tensor nonfinite_;  ///< on a CUDA device: gradients so far that were not finite
  RunSummary summary_;
  std::int64_t steady_steps_ = 0;
  ProcessorTime steady_processor_;  ///< of the training loop, when the first of them ended
  std::int64_t steady_samples_ = 0;
  StageTimes steady_times_;  ///< sums over the steady steps
  LoaderCounts steady_loader_;
  std::int64_t shown_us_ = 0;
  double last_loss_ = 0;
  SyncFigures steady_sync_;               ///< sums over the steady steps
  std::vector<std::int64_t> waited_for_;  ///< how many of these steps waited for each rank
  int stop_ = 0;                          ///< the signal that all ranks stop for
  bool ended_ = false;
  Comm comm_;                     // goes first: what it tells outlives it
  Comm model_ranks_;              ///< those that share this rank's model
  std::optional<Comm> replicas_;  ///< those that hold the same piece; empty = all ranks do
  std::optional<Comm::PendingMax> asked_;
};

/// `main` of a lesson: makes the Run, calls `page`, and turns the outcome into an exit code (core/error.h;
/// 130 and 143 after SIGINT and SIGTERM).
int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&),
               JoinRanks join_ranks = nullptr);

}  // namespace isobar
