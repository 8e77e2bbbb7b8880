#pragma once
// A job and its run folder: submitted, found again, and how it ended.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "jobs/job_script.h"
#include "jobs/slurm.h"
#include "record/run_tree.h"

namespace isobar {

/// Of a job's log, read at once.
inline constexpr std::uint64_t kMostLog_bytes = 1'000'000;

struct SubmittedJob {
  std::int64_t number = 0;
  std::filesystem::path run;

  std::filesystem::path script() const { return run / kJobScript; }
  /// What the script and rank 0 say: every start of the job adds to it.
  std::filesystem::path log() const;
};

/// Writes the script of `plan` into its run folder, submits it, and notes the job's number there (job.toml).
/// When Slurm refuses the job the folder is as it was. Error (exit code 1) that says why.
SubmittedJob submit_job(const Slurm& slurm, const JobPlan& plan);

/// The job whose run folder this is; number 0 when it was submitted by nobody.
SubmittedJob job_of_run(const std::filesystem::path& run);

/// Run folders of all jobs at any depth below `runs`, in the order in which they were submitted.
std::vector<FoundFolder> list_job_folders(const std::filesystem::path& runs);

/// What `name` names: the folder of a job, one below `runs`, or "last" for the one submitted last. "" when
/// there is none.
std::filesystem::path find_job_folder(const std::string& name, const std::filesystem::path& runs);

/// "finished", "failed with exit code 1", "was cancelled", ... of a job that is over.
std::string fate_text(const JobState& state);

}  // namespace isobar
