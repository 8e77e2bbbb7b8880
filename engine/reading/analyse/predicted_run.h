#pragma once
// A prediction as a run folder.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"

namespace isobar {

/// Facts of a prediction for this machine alone.
struct PredictedHere {
  StepStages stages;
  MachineRates rates;
};

struct Prediction {
  std::string lesson;
  std::string preset;
  std::string point;    ///< "key=value ...", what was set beyond the lesson and its preset; "" = nothing
  std::string command;  ///< command that made it
  Config config;
  StepForm form;
  DeviceRates device;
  StepTime time;
  MemoryPlan memory;                            ///< a rank's
  std::vector<MemoryPlan> memory_by_rank = {};  ///< each rank's, with mesh.pp above 1
  std::optional<PredictedHere> here;

  double step_us() const { return here ? here->stages.step_us() : time.step_us(); }
  double samples_per_s() const;  ///< rate of all ranks
  double flops_per_sample() const;
  double redone_flops_per_sample() const;
  double mfu() const;
  /// The rate of all ranks at which a step does not wait for its batch.
  double needed_bytes_per_s() const;
};

/// Adds run.ranks of one model, or of the models of one ensemble, where `settings` set several ranks for it
/// (mesh.tp, mesh.cp, mesh.pp, mesh.gpus_per_model, mesh.gpus_per_ensemble) and no number of ranks. Whether
/// they do set them.
bool add_ranks_of_model(Settings& settings);

/// What does not depend on rates; `command` made it.
Prediction begin_prediction(const LessonInfo& lesson, const Settings& settings, const std::string& command,
                            bool on_cuda);

/// On one device of formula/device_rates.h. Error (exit code 2) for several ranks, and where the lesson does
/// not fit its memory.
Prediction predict_on_device(const LessonInfo& lesson, const Settings& settings, const std::string& device,
                             const std::string& command);

/// Writes run.toml and a stream of a few equal steps into `folder`, which must be new or empty (Error, exit
/// code 2). Stages, launches and bytes are there; losses are not, since no formula gives them.
void write_predicted_run(const Prediction& prediction, const std::filesystem::path& folder);

}  // namespace isobar
