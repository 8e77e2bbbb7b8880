#include "cli/follow_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "analyse/run_files.h"
#include "cli/follow_run.h"
#include "cli/run_lines.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "launch/spawn.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kAsk_us = 5'000'000;    // between two questions to Slurm, which serves many
constexpr std::int64_t kFirst_us = 1'000'000;  // the same while a job may start at once
constexpr int kFirstTimes = 10;
constexpr std::size_t kLogLines = 12;

/// Slurm's word for why a job waits, and what it means.
std::string reason_text(const std::string& reason) {
  static const std::map<std::string, std::string> kWords = {
      {"Resources", "for free nodes"},
      {"Priority", "others come first"},
      {"BeginTime", "a moment, before it may start again"},
      {"Dependency", "for another job"},
      {"JobHeldUser", "somebody holds it: scontrol release lets it go"},
      {"JobHeldAdmin", "an administrator holds it"},
      {"PartitionTimeLimit", "for ever: its --time is longer than the partition allows"},
      {"PartitionNodeLimit", "for ever: the partition has not so many nodes for one job"},
      {"ReqNodeNotAvail", "nodes that it needs are down or set aside"}};
  const std::string word = reason.substr(0, reason.find(','));
  const auto found = kWords.find(word);
  return found == kWords.end() ? printable(reason, 80) : found->second + " (" + word + ")";
}

std::string state_text(const JobState& state) {
  if (state.waits()) {
    const std::string start =
        state.start.empty() ? "" : "; expected to start at " + printable(state.start, 40);
    return "waits" + (state.reason.empty() ? "" : ": " + reason_text(state.reason)) + start;
  }
  if (state.state == "RUNNING") return "runs on " + printable(state.nodes, 80);
  if (state.state == "COMPLETING") return "is being cleared away";
  return state.is_over() ? fate_text(state) : "is " + printable(state.state, 40);
}

/// What the job's run says, as it says it.
class RunWatch {
 public:
  RunWatch(fs::path run, Console& console) : run_(std::move(run)), console_(console) {}

  void look() {
    if (!reader_) {
      if (!fs::exists(run_ / "rank-0000.jsonl")) return;
      reader_.emplace(run_);
      teller_.emplace(*reader_, console_, console_.is_terminal() ? 100'000 : 10'000'000, "  ");
    }
    teller_->look();
  }

 private:
  fs::path run_;
  Console& console_;
  std::optional<RunReader> reader_;
  std::optional<RunTeller> teller_;
};

void print_log(const SubmittedJob& job, Console& console) {
  std::error_code code;
  if (!fs::exists(job.log(), code)) return;
  std::vector<std::string> lines;
  std::istringstream text(read_text_file(job.log(), kMostLog_bytes));
  for (std::string line; std::getline(text, line);) lines.push_back(printable(line, 300));
  console.line("  the end of " + job.log().string() + ":");
  for (std::size_t i = lines.size() - std::min(lines.size(), kLogLines); i < lines.size(); ++i)
    console.line("    " + lines[i]);
}

/// The run of a job, and its log where it went wrong.
void print_end(const SubmittedJob& job, bool good, Console& console) {
  try {
    if (!good) print_log(job, console);
    if (is_run_folder(job.run)) run_report(job.run).print(console);
  } catch (const Error& error) {
    console.line("  " + printable(error.what(), 200));
  }
}

}  // namespace

int follow_job(const Slurm& slurm, const SubmittedJob& job, Console& console) {
  const HeldSignals signals;
  int asked = 0;
  int times = 0;
  std::string told;
  RunWatch run(job.run, console);
  const JobState last = wait_for_end(
      slurm, job.number,
      [&](const JobState& state, const std::string& trouble) {
        const std::string text = trouble.empty() ? state_text(state) : "cannot be asked for: " + trouble;
        if (text != told) console.line(fmt::format("job {} {}", job.number, text));
        told = text;
        const std::int64_t pause_us = state.is_over()          ? kFirst_us / 2
                                      : ++times <= kFirstTimes ? kFirst_us
                                                               : kAsk_us;
        for (const std::int64_t begin_us = steady_us(); asked == 0 && steady_us() - begin_us < pause_us;) {
          run.look();
          const int number = signals.next(100);
          if (number == SIGTSTP) raise(SIGSTOP);
          if (number == SIGINT || number == SIGTERM || number == SIGHUP) asked = number;
        }
        return asked == 0;
      },
      /*pause_s=*/0);
  if (asked != 0) {
    console.line(fmt::format("job {} goes on without being watched; ./isobar submit --cancel {} ends it",
                             job.number, job.number));
    return 128 + asked;
  }
  const bool good = last.state == "COMPLETED";
  print_end(job, good, console);
  return good ? 0 : 1;
}

int show_job(const Slurm& slurm, const SubmittedJob& job, Console& console) {
  const JobState state = slurm.state(job.number);
  console.line(fmt::format("job {} {}", job.number, state_text(state)));
  print_end(job, !state.is_over() || state.state == "COMPLETED", console);
  return 0;
}

}  // namespace isobar
