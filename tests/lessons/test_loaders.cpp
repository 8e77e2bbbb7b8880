// Lessons 02 and 03 against lesson 01: other threads read, and nothing else changes, whatever stops them.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <thread>

#include "fields/checkpoint_folder.h"
#include "lessons/loader_lessons.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// Mean stall of the steps that begin an epoch after the first, and of all others.
std::pair<double, double> stalls_ms(const fs::path& run, std::int64_t steps_per_epoch) {
  std::vector<double> first;
  std::vector<double> other;
  for (const json& step : of_kind(stream(run), "step")) {
    const auto index = step["step"].get<std::int64_t>();
    if (index == 0) continue;
    (index % steps_per_epoch == 0 ? first : other).push_back(step["stall_us"].get<double>() * 1e-3);
  }
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  return {mean(first), mean(other)};
}

}  // namespace

TEST_CASE("lessons 01, 02 and 03 end with the same weights and losses, bit for bit") {
  const TempFolder folder;
  int runs = 0;
  const auto check = [&](const std::string& lesson, const std::vector<std::string>& sets) {
    INFO(lesson << " " << (sets.empty() ? "" : sets.front()));
    const fs::path run = folder / std::to_string(runs++);
    const ProcessResult result = train_lesson(lesson, run, with(kTwenty, sets));
    INFO(result.err);
    REQUIRE(result.code == 0);
    check_equal(run, uninterrupted());
  };
  for (const char* workers : {"0", "1", "2", "4"})
    check("02_workers", {std::string("data.workers=") + workers});
  for (const char* workers : {"1", "2", "4"})
    check("03_gpu_loader", {std::string("data.workers=") + workers});
  check("02_workers", {"data.persistent=false", "data.prefetch=1"});
  check("03_gpu_loader", {"loader.slots=1", "loader.share_fields=false"});
  for (const char* lesson : {"01_baseline", "02_workers", "03_gpu_loader"})
    check(lesson, {"data.source=memory"});
}

TEST_CASE("made-up data need no data set in any lesson") {
  const TempFolder folder;
  for (const char* lesson : {"01_baseline", "02_workers", "03_gpu_loader"}) {
    const ProcessResult result =
        train_lesson(lesson, folder / lesson,
                     {"data.root=/nowhere", "data.source=synthetic", "train.steps=3", "data.limit_valid=4"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(of_kind(stream(folder / lesson), "step").size() == 3);
  }
}

TEST_CASE("stopped or killed in the middle of an epoch with full queues, runs go on bit for bit") {
  const TempFolder folder;
  int combinations = 0;
  double longest_s = 0;
  for (const LoaderLesson& lesson : kLoaderLessons) {
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGKILL}) {
      INFO(lesson.lesson << " " << lesson.sets.front() << ", signal " << signal);
      const fs::path run = folder / std::to_string(combinations++);
      // Steps of 60 ms: the queues are full when the signal comes.
      const ProcessResult stopped = lesson.train(
          run,
          with(kTwenty, {"run.fault=slow_stage", "run.fault_ms=60", "run.fault_stage=forward",
                         signal == SIGKILL ? "train.checkpoint_every=1" : "train.checkpoint_every=0"}),
          {.signal = signal, .interrupt_when = when_steps(run, 4)});
      CHECK(stopped.code == (signal == SIGKILL ? 137 : 75));
      if (signal != SIGKILL) longest_s = std::max(longest_s, stopped.signal_to_exit_s);
      const ProcessResult resumed = resume(run, {"run.fault=none"}, {}, lesson.lesson);
      INFO(resumed.err);
      REQUIRE(resumed.code == 0);
      check_equal(run, uninterrupted());
    }
  }
  CHECK(combinations == 12);
  WARN("signal to exit, with a step and a checkpoint: at most " << longest_s << " s");
}

TEST_CASE("threads that wait for a slow disk or a slow worker are joined within a second of a signal") {
  const TempFolder folder;
  int runs = 0;
  for (const LoaderLesson& lesson : kLoaderLessons) {
    for (const std::vector<std::string>& slow :
         {std::vector<std::string>{"data.throttle_mb_per_s=1"},
          std::vector<std::string>{"run.fault=slow_worker", "run.fault_ms=100"}}) {
      const fs::path run = folder / std::to_string(runs++);
      const ProcessResult stopped = lesson.train(run, with({"train.steps=100000", "run.flush_ms=1"}, slow),
                                                 {.signal = SIGTERM, .interrupt_when = when_steps(run, 2)});
      INFO(lesson.lesson << " " << slow.front() << ": " << stopped.err);
      CHECK(stopped.code == 75);
      // The step that the signal came into waits for its batch; that and the checkpoint are not the joining.
      double step_s = of_kind(stream(run), "step").back()["step_us"].get<double>() * 1e-6;
      for (const json& note : of_kind(stream(run), "note"))
        if (note["text"] == "checkpoint") step_s += note["duration_us"].get<double>() * 1e-6;
      CHECK(stopped.signal_to_exit_s - step_s < 1);
      WARN(lesson.lesson << " " << lesson.sets.front() << ", " << slow.front() << ": "
                         << stopped.signal_to_exit_s << " s from signal to exit, of which " << step_s
                         << " s step and checkpoint");
    }
  }
}

TEST_CASE("a slow disk is no error: the stall stands in the steps and in the summary") {
  const TempFolder folder;
  for (const LoaderLesson& lesson : kLoaderLessons) {
    const fs::path run = folder / (lesson.lesson + lesson.sets.front());
    const ProcessResult result =
        lesson.train(run, {"train.steps=20", "data.throttle_mb_per_s=10", "data.limit_valid=4"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    // 8 fields of 20 x 48 x 96 floats: 295 ms at 10 MB/s, of which steps and validation overlap a part.
    double stall_us = 0;
    for (const json& step : of_kind(stream(run), "step")) stall_us += step["stall_us"].get<double>();
    CHECK(stall_us > 20 * 30'000);
    CHECK(of_kind(stream(run), "summary").back()["stall_us"].get<double>() > 30'000);
    CHECK_THAT(result.out, says("held to 10 MB/s"));
  }
}

TEST_CASE("workers that end with each epoch cost time at each start, and change no bit") {
  const TempFolder folder;
  const auto run_with = [&](const std::string& fault) {
    const fs::path run = folder / fault;
    // Reading a batch takes 60 ms: threads that stay have read on while the last steps were made.
    const ProcessResult result = train_lesson(
        "02_workers", run,
        with(kTwenty,
             {"data.workers=2", "data.prefetch=4", "data.throttle_mb_per_s=50", "run.fault=" + fault}));
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK(weights(run) == weights(uninterrupted()));
    return stalls_ms(run, 8);
  };
  const auto [kept_first, kept_other] = run_with("none");
  const auto [anew_first, anew_other] = run_with("respawn");
  WARN("stall of the first step of an epoch: " << kept_first << " ms with threads that stay, " << anew_first
                                               << " ms with new ones; of others " << kept_other << " and "
                                               << anew_other << " ms");
  CHECK(anew_first > kept_first + 20);
}

TEST_CASE("mistakes on purpose of lessons 02 and 03 show what they are for") {
  const TempFolder folder;
  const auto run_with = [&](const std::string& lesson, const std::string& fault,
                            const std::vector<std::string>& more = {}) {
    const fs::path run = folder / (lesson + fault + (more.empty() ? "" : more.front()));
    const ProcessResult result =
        train_lesson(lesson, run, with(with(kTwenty, {"run.fault=" + fault, "run.fault_ms=60"}), more));
    INFO(lesson << " " << fault << ": " << result.err);
    REQUIRE(result.code == 0);
    return run;
  };
  for (const char* fault : {"slow_loader", "slow_worker", "oversubscribe"})
    CHECK(weights(run_with("02_workers", fault)) == weights(uninterrupted()));
  for (const char* fault : {"slow_loader", "slow_worker", "one_slot"})
    CHECK(weights(run_with("03_gpu_loader", fault)) == weights(uninterrupted()));
  CHECK(weights(run_with("02_workers", "same_seed_workers", {"data.workers=2"})) != weights(uninterrupted()));
  const ProcessResult alone = train_lesson("02_workers", folder / "alone",
                                           with(kTwenty, {"run.fault=same_seed_workers", "data.workers=1"}));
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, says("would do nothing with 1 worker"));
  const auto loader = [&](const std::string& name) {
    return of_kind(stream(folder / name), "note").front()["loader"].get<std::string>();
  };
  CHECK_THAT(loader("03_gpu_loaderone_slot"), says("fill 1 slot "));
  CHECK_THAT(loader("02_workersoversubscribe"),
             says(std::to_string(8 * std::thread::hardware_concurrency()) + " threads"));
}
