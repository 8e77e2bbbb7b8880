#pragma once
// A job of Slurm as a person watches it: why it waits, what it trains, how it ended.
#include "jobs/job_script.h"
#include "record/console.h"

namespace isobar {

/// Watches until the job is over, then shows its run. Ctrl-C stops watching, not the job (exit code 130). 0
/// when the job finished, else 1.
int follow_job(const Slurm& slurm, const SubmittedJob& job, Console& console);

/// How the job stands now, and its run.
int show_job(const Slurm& slurm, const SubmittedJob& job, Console& console);

}  // namespace isobar
