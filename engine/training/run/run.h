#pragma once
// What a lesson is given: its configuration, its ranks, its run folder, and the values that its loop holds.
#include <c10/core/Device.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "record/console.h"
#include "record/span_writer.h"
#include "run/checkpoints.h"
#include "run/gradient_guard.h"
#include "run/rank_groups.h"
#include "run/recorder.h"
#include "run/replica_check.h"
#include "run/run_output.h"
#include "run/run_plan.h"
#include "run/step.h"
#include "running/run_main.h"
#include "running/signals.h"
#include "running/stop_vote.h"
#include "train/training_state.h"

namespace isobar {

/// What a run is made of; it begins when this is constructed (run/run_plan.h, rank_groups.h and run_output.h
/// state its errors).
struct RunParts {
  RunParts(const RunStart& start, JoinRanks join_ranks);

  /// All steps are done and scored; false after a stop on request.
  bool complete() const;

  StopSignals signals;
  Console console;
  RunPlan plan;
  Progress progress;
  DataIdentity data;
  std::unique_ptr<RunOutput> output;  // the groups refer to it, and go first
  RankGroups groups;
  StopVote vote;
  std::unique_ptr<Recorder> recorder;
  std::optional<GradientGuard> guard;  ///< once there is something to guard
  Loader* loader = nullptr;            ///< the loader that was announced
};

/// A run as its page sees it.
class Run {
 public:
  explicit Run(RunParts& parts) : parts_(parts) {}

  const Config& config() const { return parts_.plan.page_config; }
  c10::Device device() const { return parts_.plan.device; }
  /// The ranks that train together; a process alone is a group of one.
  Comm& comm() { return parts_.groups.world(); }
  /// This rank's group along an axis of the mesh, such as "tp", "cp", "pp" or "dp" (RankGroups::along).
  Comm& group(const std::string& axis) { return parts_.groups.along(axis); }
  const std::filesystem::path& folder() const { return parts_.output->folder().path; }
  /// Where the data set is: data.root, or the embedded set of this grid.
  const std::filesystem::path& data_root() const { return parts_.plan.data_root; }
  /// Where loaders record what their threads do.
  SpanWriter& spans() { return parts_.output->spans(); }

  /// Says what is about to be trained, on what, and where the run folder is. `training` outlives the loop.
  void announce(const Dataset& train, const Dataset& valid, const Training& training);
  Recorder& recorder() { return *parts_.recorder; }
  GradientGuard& guard() { return *parts_.guard; }  ///< guards what was announced
  Checkpoints checkpoints(const Training& training);
  ReplicaCheck replica_check(const Parameters& parameters);

  /// Replaces the weights that were drawn by those of train.init, and writes what training starts from to
  /// train.save_init; where a key is empty nothing happens. All ranks call it.
  void first_weights(Parameters& parameters);

  /// True while steps remain and nobody asked to stop; all ranks agree on it. With run.measure = io no step
  /// is left for the page: all of them are made here, and each takes a batch of the loader and drops it.
  bool goes_on();
  /// Whether a stop on request left something to do.
  bool stopped() const { return !parts_.complete(); }

 private:
  void only_read();

  RunParts& parts_;
};

/// `main` of a lesson: makes the Run, calls `page`, and turns the outcome into an exit code (core/error.h;
/// 130 and 143 after SIGINT and SIGTERM).
int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&),
               JoinRanks join_ranks = nullptr);

}  // namespace isobar
