#pragma once
// When the state of training is saved, and how a run resumes from it.
#include <string>

#include "run/progress.h"
#include "run/rank_groups.h"
#include "run/recorder.h"
#include "run/run_output.h"
#include "run/run_plan.h"
#include "train/training_state.h"

namespace isobar {

/// What the data sets are (Dataset::identity()): a checkpoint keeps those that it was trained with.
struct DataIdentity {
  std::string train;
  std::string valid;
};

class Checkpoints {
 public:
  /// All of these outlive it.
  Checkpoints(const RunPlan& plan, const Training& training, const DataIdentity& data, RankGroups& groups,
              Progress& progress, Recorder& recorder);

  /// Brings training to where the checkpoint of --resume left off; without one leaves it as it is. Error
  /// (exit code 2) when that was trained with other data.
  void resume();

  /// Saves one every train.checkpoint_every steps. Error (exit code 1) when a weight is not finite: a broken
  /// state does not take the place of a good one. A run that only measures saves none.
  void save_when_due();

  /// Saves one, unless it is there: for --resume, after a stop on request.
  void save();

 private:
  std::filesystem::path write(const CheckpointState& so_far);
  void write_shares(CheckpointWriter* writer);

  const RunPlan& plan_;
  Training training_;
  const DataIdentity& data_;
  RankGroups& groups_;
  Progress& progress_;
  Recorder& recorder_;
};

}  // namespace isobar
