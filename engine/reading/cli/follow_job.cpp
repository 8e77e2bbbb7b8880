#include "cli/follow_job.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "analyse/run_files.h"
#include "cli/run_lines.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "launch/spawn.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kAsk_us = 5'000'000;    // between two questions to Slurm, which serves many
constexpr std::int64_t kFirst_us = 1'000'000;  // the same while a job may start at once
constexpr int kFirstTimes = 10;

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

void print_log(const SubmittedJob& job, Console& console) {
  const std::vector<std::string> lines = job.end_of_log();
  if (!lines.empty()) console.line("  the end of " + job.log().string() + ":");
  for (const std::string& line : lines) console.line("    " + line);
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
  int times = 0;
  std::string told;
  std::optional<RunReader> reader;  // of the run, once it has begun
  std::optional<RunTeller> teller;
  const auto look = [&] {
    if (!reader && fs::exists(job.run / "rank-0000.jsonl"))
      teller.emplace(reader.emplace(job.run), console, console.is_terminal() ? 100'000 : 10'000'000, "  ");
    if (teller) teller->look();
  };
  const auto seen = [&](const JobState& state, const std::string& trouble) {
    const std::string text = trouble.empty() ? state_text(state) : "cannot be asked for: " + trouble;
    if (text != told) console.line(fmt::format("job {} {}", job.number, text));
    told = text;
    return ++times <= kFirstTimes ? kFirst_us : kAsk_us;
  };
  const auto [last, asked] = wait_for_end(slurm, job.number, signals, {.seen = seen, .tick = look});
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
