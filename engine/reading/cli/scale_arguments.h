#pragma once
// The command line of `scale`, and the runs that it asks for, on this machine or as jobs of Slurm.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/simulated_scaling.h"
#include "cli/measured_runs.h"
#include "core/named_file.h"
#include "draw/svg_canvas.h"
#include "jobs/job_settings.h"

namespace isobar {

struct ScaleArguments {
  MeasureArguments measure;
  ScalingLaw law = ScalingLaw::weak;
  std::vector<std::int64_t> ranks;  ///< ascending, at least two
  std::vector<ScalingLine> lines;   ///< in their own order
  double target_loss = 0;           ///< validation loss that whole runs are to reach; 0 = none is wanted
  double watts = 0;                 ///< what each rank is assumed to draw; 0 = no energy is reported
  std::int64_t up_to = kUsualContinuation;  ///< ranks that the simulated continuation ends at
  JobSettings job;                          ///< not completed
  bool as_jobs = false;  ///< each run is a job of Slurm with these settings, else processes of this machine
  /// No path = scaling.svg in a folder with the name of the group.
  NamedFile svg = {.path = {}, .option = "--svg", .kind = "picture", .mark = kSvgMark};
};

/// Error (exit code 2) for anything that makes no sense, a picture that cannot be written included. Nothing
/// where --help printed the page.
std::optional<ScaleArguments> parse_scale_arguments(const std::vector<std::string>& words);

/// One point of the plan, and what it is measured as.
struct ScalePlan {
  std::vector<MeasuredPoint> points;   ///< by ranks, then by line
  std::vector<ScalingPoint> measured;  ///< points of these places, without runs yet
  std::int64_t threads = 1;            ///< threads of each rank; 0 = those of a job's rank
  std::int64_t processors = 1;         ///< processors that this process may use
};

/// The settings of every point. weak: train.global_batch is what one model has, of ranks_of_model ranks.
/// strong: it is that of all ranks together. Whole runs train on as many samples everywhere, as train.steps
/// are on the fewest ranks. Threads of a rank are run.threads, or the processors divided by the most ranks.
/// Error (exit code 2) for a lesson that trains on one rank only, and for a batch that some of the numbers of
/// ranks do not divide.
ScalePlan plan_of(const ScaleArguments& arguments);

/// Nodes for so many ranks: the number on each from `settings`, on one node fewer where there are fewer.
/// Error (exit code 2) when they fill the last node in part: its ranks would have more of it than the others.
JobSettings settings_for(JobSettings settings, std::int64_t ranks);

/// Submits each run as a job, with its script in the run folder, and waits for its end. A signal to stop
/// cancels the job. Needs Slurm's programs (Error, exit code 1, when it is called).
StartRun start_as_jobs(const JobSettings& settings);

}  // namespace isobar
