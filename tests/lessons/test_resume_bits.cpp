// A run that is stopped or killed goes on bit for bit: every lesson on one process, every signal, every
// place. (Those on several ranks: test_ranks.cpp, test_tensor_lesson.cpp.)
#include <csignal>

#include "fields/checkpoint_folder.h"
#include "lessons/paused_run.h"
#include "lessons/resumed_run.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// The lesson and its settings.
const Picks kLessons = {"01_baseline",
                        "02_workers data.workers=2",
                        "02_workers data.workers=4",
                        "03_gpu_loader data.workers=2",
                        "04_amp amp.mode=fp16",
                        "04_amp amp.mode=bf16",
                        "05_fusion optim.kernel=own",
                        "05_fusion optim.kernel=libtorch"};
const Picks kSignals = {"TERM", "INT", "USR1", "KILL"};
/// The step in which the signal comes, from 1: the first, in mid-epoch, the last of an epoch, the one behind
/// its evaluation. Epochs have eight steps.
const Picks kSteps = {"1", "4", "8", "9"};

int number_of(const std::string& signal) {
  return signal == "TERM" ? SIGTERM : signal == "INT" ? SIGINT : signal == "USR1" ? SIGUSR1 : SIGKILL;
}

/// Stops in the middle of `step`, where the loop stands still until the signal was sent: queues are full.
ProcessResult stop_in_step(const Picks& lesson, const fs::path& run, int signal, const std::string& step) {
  std::vector<std::string> sets(lesson.begin() + 1, lesson.end());
  // A checkpoint at every step for the run that is killed, so that it has one wherever it is.
  sets.insert(sets.end(), {"run.fault=slow_stage", "run.fault_stage=forward", "run.fault_ms=10",
                           signal == SIGKILL ? "train.checkpoint_every=1" : "train.checkpoint_every=0"});
  return train_lesson(lesson[0], run, with(kTwenty, sets),
                      paused_in_step(step, run.string() + ".paused", signal));
}

void check_case(const TempFolder& folder, const Picks& lesson, const std::string& signal,
                const std::string& step) {
  INFO(lesson[0] << (lesson.size() > 1 ? " " + lesson[1] : "") << ": SIG" << signal << " in step " << step);
  const fs::path whole = folder / (lesson[0] + lesson.back());
  const std::vector<std::string> sets(lesson.begin() + 1, lesson.end());
  if (!fs::exists(whole)) REQUIRE(train_lesson(lesson[0], whole, with(kTwenty, sets)).code == 0);
  const fs::path run = folder / (lesson[0] + lesson.back() + signal + step);
  const bool killed = signal == "KILL";
  const ProcessResult stopped = stop_in_step(lesson, run, number_of(signal), step);
  INFO(stopped.out << stopped.err);
  REQUIRE(stopped.code == (killed ? 137 : 75));
  if (!killed) {
    CHECK_THAT(stopped.out, says("--resume " + run.string()));
    CHECK(stream(run).back()["status"] == "stopped");
    CHECK(of_kind(stream(run), "step").size() == std::stoul(step));  // the step that ran was finished
  }
  const ProcessResult resumed = resume(run, {"run.fault=none"}, {}, lesson[0]);
  INFO(resumed.err);
  if (killed && step == "1") {
    CHECK(resumed.code == 2);
    CHECK_THAT(resumed.err, says("no complete checkpoint"));
    return;
  }
  REQUIRE(resumed.code == 0);
  check_equal(run, whole);
}

}  // namespace

TEST_CASE("stopped or killed at any place, a run goes on bit for bit") {
  const TempFolder folder;
  if (std::getenv("ISOBAR_PRODUCTS") != nullptr) {
    for (const Picks& c : products({kLessons, kSignals, kSteps}))
      check_case(folder, words_of(c[0]), c[1], c[2]);
    return;
  }
  // Lesson 01 by every signal, each other one once, every signal and place several times.
  const Picks turns = {"TERM 1", "KILL 4", "INT 8", "USR1 9", "KILL 9",
                       "TERM 4", "KILL 8", "INT 1", "USR1 4"};
  std::size_t turn = 0;
  for (const std::string& lesson : kLessons) {
    for (int n = 0; n < (lesson == "01_baseline" ? 4 : 1); ++n) {
      const Picks how = words_of(turns[turn++ % turns.size()]);
      check_case(folder, words_of(lesson), how[0], how[1]);
    }
  }
  check_case(folder, words_of("01_baseline"), "KILL", "1");
}
