// What test_ranks.cpp shows once, many times over, with figures: whether a lost rank is always the one that
// is named, how long the others take to end, and whether a stop at any moment leaves a run that goes on.
#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>
#include <random>

#include "analyse/spread.h"
#include "core/clock.h"
#include "launch/rank_status.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

/// How often: ISOBAR_COUNT, or `usual`.
int count(int usual) {
  const char* const wanted = std::getenv("ISOBAR_COUNT");
  return wanted == nullptr ? usual : std::atoi(wanted);
}

std::string median_and_most(const std::vector<double>& values) {
  const Spread spread(values);
  return fmt::format("median {:.3f}, most {:.3f} of {}", spread.median(), spread.most(), values.size());
}

struct Lost {
  int ranks = 2;
  int rank = 1;
  std::string stage = "";
  std::string fault = "";
  std::vector<std::string> more = {};
};

/// Seconds from the moment in which the rank was struck to the launcher's exit; checks that it was named, and
/// that nobody stayed behind.
double struck_to_exit_s(const Lost& lost, int index) {
  const TempFolder folder;
  const fs::path run = folder / "run";
  std::vector<std::string> sets = {"train.steps=8",
                                   "train.checkpoint_every=2",
                                   "run.fault=" + lost.fault,
                                   "run.fault_stage=" + lost.stage,
                                   "run.fault_step=" + std::to_string(1 + index % 5),
                                   "run.fault_rank=" + std::to_string(lost.rank)};
  sets.insert(sets.end(), lost.more.begin(), lost.more.end());
  const ProcessResult result = run_ranks(lost.ranks, run, sets);
  const std::int64_t end_ns = wall_ns();
  INFO(index << ": rank " << lost.rank << " of " << lost.ranks << ", " << lost.fault << " in " << lost.stage
             << "\n"
             << result.err);
  CHECK(result.code == (lost.fault == "kill_rank" ? 137 : 1));
  CHECK_THAT(result.err, says("error: rank " + std::to_string(lost.rank) + " failed first, "));
  CHECK(no_process_left(run));
  const std::optional<RankStatus> struck = read_rank_status(run, lost.rank);
  return struck ? static_cast<double>(end_ns - struck->since_ns) * 1e-9 : 0;
}

}  // namespace

TEST_CASE("a killed rank is the one that is named, a hundred times", "[.][nightly]") {
  const std::vector<std::string> stages = {"start", "load", "forward", "comm", "checkpoint"};
  std::vector<double> exits_s;
  for (int i = 0; i < count(100); ++i) {
    Lost lost{.ranks = i % 2 == 0 ? 2 : 4, .fault = "kill_rank"};
    lost.rank = i / 10 % lost.ranks;
    lost.stage = stages[static_cast<std::size_t>(i) % stages.size()];
    if (lost.stage == "comm") lost.more = {"comm.sync=at_end", "comm.link.gbit_per_s=0.1"};
    exits_s.push_back(struck_to_exit_s(lost, i));
  }
  WARN("killed to launcher's exit, s: " << median_and_most(exits_s));
}

TEST_CASE("a rank that stands still is the one that is named, a hundred times, soon after the limit",
          "[.][nightly]") {
  constexpr double kLimit_s = 3;
  const std::vector<std::string> stages = {"load", "forward", "backward", "optimize"};
  std::vector<double> delays_s;
  for (int i = 0; i < count(100); ++i) {
    Lost lost{.ranks = i % 2 == 0 ? 2 : 4, .fault = "stop_rank", .more = {"comm.timeout_s=3"}};
    lost.rank = 1 + i / 8 % (lost.ranks - 1);
    lost.stage = stages[static_cast<std::size_t>(i) % stages.size()];
    delays_s.push_back(struck_to_exit_s(lost, i) - kLimit_s);
  }
  WARN("stopped to launcher's exit, s over comm.timeout_s: " << median_and_most(delays_s));
}

TEST_CASE("ranks asked to stop at fifty moments leave a run that goes on", "[.][nightly]") {
  std::mt19937 random(7);
  int checkpoints = 0;
  for (int i = 0; i < count(50); ++i) {
    const TempFolder folder;
    const fs::path run = folder / "run";
    const int signal = std::vector{SIGINT, SIGTERM, SIGUSR1}[static_cast<std::size_t>(i) % 3];
    const int moment_ms = static_cast<int>(random() % 2500);
    const ProcessResult result = run_ranks(
        2, run, {"train.steps=60", "train.checkpoint_every=25", "run.fault=slow_stage", "run.fault_ms=20"},
        {.signal = signal, .interrupt_when = after_ms(moment_ms)});
    INFO(i << ": signal " << signal << " after " << moment_ms << " ms\n" << result.out << result.err);
    CHECK((result.code == 75 || result.code == 0 || result.code == 128 + signal));
    if (result.code != 75) continue;
    ++checkpoints;
    const ProcessResult resumed = resume_ranks(2, run, {"run.fault=none"});
    INFO(resumed.out << resumed.err);
    CHECK(resumed.code == 0);
    CHECK(count_steps(run, 0) == 60);
  }
  WARN(checkpoints << " went on");
}
