#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <sstream>
#include <string_view>

#include "core/clock.h"
#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "jobs/job_script.h"
#include "launch/captured_run.h"
#include "launch/supervise.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kMostTroubles = 20;

/// A program of Slurm was stopped before it ended: what it asked for may have happened all the same.
class NoAnswer : public Error {
 public:
  using Error::Error;
};

/// Requests to stop that come meanwhile are passed on to it.
CapturedRun ask_slurm(const std::vector<std::string>& words, std::int64_t longest_us) {
  CapturedRun said = run_quietly(words, longest_us, kMostKept_bytes);
  if (said.asked == 0 && !said.was_late) return said;
  if (said.asked != 0) raise(said.asked);  // it was meant for this program
  throw NoAnswer("Slurm does not answer", fs::path(words.front()).filename().string(),
                 "is its controller down? try again later", Exit::failed);
}

std::string first_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line.empty()) {
  }
  return printable(line, 300);
}

Error refusal(const std::string& what, const std::vector<std::string>& words, const CapturedRun& said) {
  const std::string line = first_line(said.errors.empty() ? said.out : said.errors);
  const std::string name = fs::path(words.front()).filename().string();
  return {
      what + (line.empty() ? "" : ": " + line), fmt::format("{} (exit code {})", name, said.code),
      "sinfo shows the partitions and what they allow; sacctmgr show associations user=$USER your accounts",
      Exit::failed};
}

fs::path program_of_slurm(const std::string& name) {
  const std::string file = find_program(name);
  if (!file.empty()) return file;
  throw Error(
      "Slurm is not here: there is no " + name, "PATH",
      "on a machine with Slurm it is on a login node, or module load slurm brings it; --dry-run only shows "
      "the script",
      Exit::failed);
}

/// The states of squeue(1), JOB STATE CODES.
constexpr std::array<std::string_view, 10> kOver = {"COMPLETED", "FAILED",    "CANCELLED", "TIMEOUT",
                                                    "NODE_FAIL", "PREEMPTED", "DEADLINE",  "OUT_OF_MEMORY",
                                                    "BOOT_FAIL", "REVOKED"};
constexpr std::array<std::string_view, 14> kGoingOn = {
    "PENDING",      "RUNNING",     "SUSPENDED",     "COMPLETING", "CONFIGURING",  "RESIZING",  "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SIGNALING",  "SPECIAL_EXIT", "STAGE_OUT", "STOPPED"};

bool is_state(const std::string& word) { return holds(kOver, word) || holds(kGoingOn, word); }

/// The number of "1234" or "1234;cluster", behind a site plugin's output; 0 where there is none.
std::int64_t job_number(const std::string& answer) {
  std::int64_t job = 0;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    const auto number = number_of<std::int64_t>(line.substr(0, line.find(';')));
    if (number && *number > 0) job = *number;
  }
  return job;
}

/// "75:0" of "... ExitCode=75:0 ..."; "" where there is no such thing.
std::string exit_code_in(const std::string& shown) {
  constexpr std::string_view kExit = " ExitCode=";
  const std::size_t at = shown.find(kExit);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kExit.size();
  const std::string out = shown.substr(begin, shown.find_first_of(" \n", begin) - begin);
  const bool is_pair = std::ranges::count(out, ':') == 1 && out.front() != ':' && out.back() != ':';
  return is_pair && out.size() <= 16 && out.find_first_not_of("0123456789:") == std::string::npos ? out : "";
}

}  // namespace

bool JobState::is_over() const { return state.empty() || holds(kOver, state); }

Slurm::Slurm(SlurmLimits limits)
    : limits_(limits),
      sbatch_(program_of_slurm("sbatch")),
      squeue_(program_of_slurm("squeue")),
      scancel_(program_of_slurm("scancel")),
      scontrol_(program_of_slurm("scontrol")) {}

std::int64_t Slurm::submit(const fs::path& folder, const std::string& script) const {
  const std::vector<std::string> words = {sbatch_.string(), "--parsable", "--chdir=" + folder.string(),
                                          (folder / script).string()};
  const auto without_number = [&](const Error& error) {
    return NoJobNumber(
        error.what(), error.where(),
        "a job may be in the queue all the same: squeue --me lists them; its folder stays at " +
            folder.string(),
        Exit::failed);
  };
  CapturedRun said;
  try {
    said = ask_slurm(words, limits_.submit_us);
  } catch (const NoAnswer& error) {
    throw without_number(error);
  }
  if (said.code != 0) throw refusal("Slurm refuses the job", words, said);
  const std::int64_t job = job_number(said.out);
  if (job == 0) throw without_number(refusal("Slurm did not print the number of the job", words, said));
  return job;
}

JobState Slurm::state(std::int64_t job) const {
  const std::string number = std::to_string(job);
  const std::vector<std::string> words = {squeue_.string(), "--noheader", "--states=all", "--jobs=" + number,
                                          "--format=%T|%r|%N|%S|%Z"};
  const CapturedRun said = ask_slurm(words, limits_.answer_us);
  const bool unknown = said.errors.find("Invalid job id") != std::string::npos;
  if (said.code != 0 && !unknown) throw refusal("Slurm does not report job " + number, words, said);
  JobState out;
  const std::string line = first_line(said.out);
  if (unknown || line.empty()) return out;
  const std::vector<std::string> parts = split(line, '|');
  if (parts.size() < 5 || !is_state(parts[0]))
    throw refusal("the answer about job " + number + " is not the state of a job", words, said);
  const auto known = [](const std::string& text) { return text == "N/A" || text == "None" ? "" : text; };
  out.state = parts[0];
  out.reason = known(parts[1]);
  out.nodes = known(parts[2]);
  out.start = known(parts[3]);
  out.folder = parts[4];
  for (std::size_t i = 5; i < parts.size(); ++i) out.folder += "|" + parts[i];
  if (!out.is_over()) return out;
  try {
    const CapturedRun shown =
        ask_slurm({scontrol_.string(), "--oneliner", "show", "job", number}, limits_.answer_us);
    if (shown.code == 0) out.exit_code = exit_code_in(shown.out);
  } catch (const NoAnswer&) {  // the job is known to be over
  }
  return out;
}

void Slurm::cancel(std::int64_t job) const {
  const std::vector<std::string> words = {scancel_.string(), std::to_string(job)};
  const CapturedRun said = ask_slurm(words, limits_.answer_us);
  if (said.code != 0) throw refusal("Slurm does not cancel job " + std::to_string(job), words, said);
}

int Slurm::run_here(const std::vector<std::string>& options, const fs::path& folder,
                    const std::string& script) const {
  std::vector<std::string> words = {program_of_slurm("salloc").string()};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {program_of_slurm("bash").string(), (folder / script).string()});
  return supervise(words).code;
}

JobEnd wait_for_end(const Slurm& slurm, std::int64_t job, const HeldSignals& signals, const JobWatch& watch) {
  constexpr std::int64_t kAgain_us = 1'500'000;  // a job that is requeued is over for a moment
  JobEnd out;
  int troubles = 0;
  bool over_before = false;
  while (true) {
    std::string trouble;
    try {
      out.last = slurm.state(job);
      troubles = 0;
    } catch (const Error& error) {  // a controller that is restarted is back in a minute
      if (++troubles >= kMostTroubles) throw;
      trouble = error.what();
    }
    const std::int64_t pause_us = watch.seen(out.last, trouble);
    const bool is_over = trouble.empty() && out.last.is_over();
    if (is_over && (over_before || out.last.state == "COMPLETED")) {
      watch.tick();
      return out;
    }
    over_before = is_over;
    for (const std::int64_t begin_us = steady_us();
         steady_us() - begin_us < (is_over ? kAgain_us : pause_us);) {
      watch.tick();
      const int number = signals.next(100);
      if (number == SIGTSTP) raise(SIGSTOP);
      if (number == SIGINT || number == SIGTERM || number == SIGHUP) out.asked = number;
      if (out.asked != 0) return out;
    }
  }
}

}  // namespace isobar
