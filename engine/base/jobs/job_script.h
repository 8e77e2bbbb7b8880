#pragma once
// Slurm's own programs, called by argument lists: no shell ever sees what stands in them; the script that
// Slurm runs, a page that a person can read, change and submit again by hand; the job that it became:
// submitted, found again, and how it ended; and the line that shows its run where a person sits.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "jobs/job_settings.h"
#include "launch/spawn.h"
#include "record/run_tree.h"

namespace isobar {

struct JobState {
  std::string state;             ///< "PENDING", "RUNNING", "COMPLETED", ...; "" = Slurm has forgotten it
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

  /// Submits the script of `folder`, where it will run too. Returns its number. Error (exit code 1) when
  /// Slurm refuses it; NoJobNumber when it may have been taken, as when sbatch does not answer in time.
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
  JobState last;  ///< state "" where Slurm has forgotten the job
  int asked = 0;  ///< the signal that ended the waiting; 0 = the job is over
};

/// Until the job is over, or one of `signals` asks to stop. Error (exit code 1) when Slurm does not answer
/// for long.
JobEnd wait_for_end(const Slurm& slurm, std::int64_t job, const HeldSignals& signals, const JobWatch& watch);

struct JobPlan {
  JobSettings settings;  ///< complete
  std::string lesson;
  std::string command;             ///< the line that was typed, which the script repeats
  std::vector<std::string> words;  ///< options of the lesson's program; run folder and resume are added
  std::vector<std::string> resume_words = {};  ///< words of a start that continues the run in its folder
  std::filesystem::path programs;  ///< absolute: the folder of the lesson's program, outside a container
  std::filesystem::path run;       ///< absolute: the run folder
  /// Absolute: where relative paths begin, and ISOBAR_PREFIX of the job.
  std::filesystem::path folder = std::filesystem::current_path();
  std::filesystem::path cache_prefix = std::filesystem::absolute(isobar::cache_prefix());
  std::vector<std::filesystem::path> inputs = {};  ///< absolute: what else the program reads
};

/// The file that lies in the run folder.
inline constexpr const char* kJobScript = "job.sbatch";

/// The text of the script: options of Slurm as --name=value, values, each one word quoted by one function,
/// and submit/job.sbatch, which reads them and holds all that is done. It starts the lesson's ranks by srun;
/// at SIGUSR1 (which Slurm sends before the time is up, or when somebody else needs the nodes) they save a
/// checkpoint, and the job is requeued; scancel ends it for good. A job that starts again continues in its
/// run folder; where it left no checkpoint there, its first files are set aside once nobody writes to them.
/// Error (exit code 2) for words that no line can hold.
std::string job_script(const JobPlan& plan);

/// The options of Slurm alone: "--nodes=2", ... `batch`: with those that only a batch job has.
std::vector<std::string> slurm_options(const JobPlan& plan, bool batch);

struct SubmittedJob {
  std::int64_t number = 0;
  std::filesystem::path run;

  std::filesystem::path script() const { return run / kJobScript; }
  /// What the script and rank 0 say: every start of the job adds to it.
  std::filesystem::path log() const;
  /// Its last lines; none where it has not begun.
  std::vector<std::string> end_of_log() const;
};

/// Writes the script of `plan` into its run folder, submits it, and notes the job's number there (job.toml).
/// When Slurm refuses the job the folder is as it was, and the Error (exit code 1) has the reason.
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

/// Where `submit` runs, and how it is reached.
struct WatchPlace {
  bool by_ssh = false;  ///< this shell came over ssh: the user sits elsewhere
  bool in_hub = false;  ///< in a notebook hub, whose proxy carries the window
  bool has_display = false;
  std::string login;  ///< how it is called from outside, "perlmutter.example.org"
  std::string user;   ///< "" = not known
  std::int64_t user_id = 0;
  std::filesystem::path home;  ///< the project's folder: ./isobar is there

  /// "ada@perlmutter.example.org", as ssh takes it.
  std::string user_at_host() const { return user.empty() ? login : user + "@" + login; }
  bool is_near() const { return in_hub || !by_ssh; }
};

/// From the environment: SSH_CONNECTION, JUPYTERHUB_SERVICE_PREFIX, DISPLAY, WAYLAND_DISPLAY. `login` comes
/// from the profile or --login; "" = the name of this machine.
WatchPlace watch_place(const std::string& login);

/// Near: the window, in a browser where there is no display. From elsewhere: an ssh that carries a port of
/// the reader's machine to a socket on the login node, and opens the window behind that socket over the same
/// connection, so that both land on one node where a name stands for several. `number` keeps the ports of two
/// jobs apart.
std::string watch_line(const WatchPlace& place, const std::filesystem::path& run, std::int64_t number);

}  // namespace isobar
