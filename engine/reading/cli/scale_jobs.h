#pragma once
// The runs of `scale` as jobs of Slurm, one after the other.
#include "cli/measured_runs.h"
#include "jobs/job_settings.h"

namespace isobar {

/// Nodes for so many ranks: as many on each as `settings` say, on one node fewer where there are fewer. Error
/// (exit code 2) when they fill the last node in part: its ranks would have more of it than the others.
JobSettings settings_for(JobSettings settings, std::int64_t ranks);

/// Submits each run as a job, with its script in the run folder, and waits for its end. A signal to stop
/// cancels the job. Needs Slurm's programs (Error, exit code 1, when it is called).
StartRun start_as_jobs(const JobSettings& settings);

}  // namespace isobar
