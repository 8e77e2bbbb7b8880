#pragma once
// Slurm's own programs, called by argument lists: no shell ever sees what stands in them.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launch/spawn.h"

namespace isobar {

struct JobState {
  std::string state;             ///< "PENDING", "RUNNING", "COMPLETED", ...; "" = Slurm knows it no more
  std::string reason;            ///< why it waits
  std::string nodes;             ///< "n[1-2]", "" while it waits
  std::string start;             ///< when it began or is expected to, "" = not known
  std::filesystem::path folder;  ///< where its script runs, which is the run folder
  std::string exit_code;         ///< "75:0", of a job that is over; "" = not known

  bool waits() const { return state == "PENDING"; }
  bool runs() const { return state == "RUNNING" || state == "COMPLETING"; }
  /// It will not run again.
  bool is_over() const;
};

/// Slurm took a script, and its answer holds no number: a job may be waiting in the queue.
class NoJobNumber : public Error {
 public:
  using Error::Error;
};

/// The longest that is waited for an answer: a controller that is down makes its programs hang.
struct SlurmLimits {
  std::int64_t answer_us = 30'000'000;
  std::int64_t submit_us = 120'000'000;  ///< the script may have to be copied
};

class Slurm {
 public:
  /// Finds sbatch, squeue, scancel and scontrol on PATH. Error (exit code 1) for one that is not there.
  explicit Slurm(SlurmLimits limits = {});

  /// Submits the script of `folder`, where it will run too. The number of the job. Error (exit code 1) when
  /// Slurm refuses it; NoJobNumber when nobody knows, as when sbatch does not answer in time.
  std::int64_t submit(const std::filesystem::path& folder, const std::string& script) const;
  /// Error (exit code 1) when Slurm does not answer in time, or with anything but the state of a job.
  JobState state(std::int64_t job) const;
  void cancel(std::int64_t job) const;
  /// Waits for nodes on this terminal (salloc with `options`) and runs the script of `folder` in them. Its
  /// exit code.
  int run_here(const std::vector<std::string>& options, const std::filesystem::path& folder,
               const std::string& script) const;

 private:
  SlurmLimits limits_;
  std::filesystem::path sbatch_, squeue_, scancel_, scontrol_;
};

/// How a job is waited for.
struct JobWatch {
  /// Gets every answer, and what went wrong where there is none; returns how long to pause before the next.
  std::function<std::int64_t(const JobState& state, const std::string& trouble)> seen;
  std::function<void()> tick;  ///< ten times a second meanwhile
};

struct JobEnd {
  JobState last;  ///< of a job that Slurm has forgotten it is ""
  int asked = 0;  ///< the signal that ended the waiting; 0 = the job is over
};

/// Until the job is over, or one of `signals` asks to stop. Error (exit code 1) when Slurm does not answer
/// for long.
JobEnd wait_for_end(const Slurm& slurm, std::int64_t job, const HeldSignals& signals, const JobWatch& watch);

}  // namespace isobar
