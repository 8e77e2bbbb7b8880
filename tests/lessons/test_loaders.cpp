// Lessons 02 and 03 against lesson 01: other threads read, and nothing else changes, whatever stops them.
#include <algorithm>
#include <cmath>
#include <csignal>

#include "core/processors.h"
#include "fields/checkpoint_folder.h"
#include "lessons/loader_lessons.h"
#include "support/catch.h"

using namespace isobar;

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
  for (const char* workers : {"0", "1", "4"}) check("02_workers", {std::string("data.workers=") + workers});
  for (const char* workers : {"1", "4"}) check("03_gpu_loader", {std::string("data.workers=") + workers});
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

TEST_CASE("threads that wait for a slow disk or a slow worker are joined when a signal comes") {
  const TempFolder folder;
  int runs = 0;
  for (const LoaderLesson& lesson : kLoaderLessons) {
    const std::string slow =
        runs % 2 == 0 ? "data.throttle_mb_per_s=4" : "run.fault=slow_worker";  // 0.7 s a batch, or 0.1
    const fs::path run = folder / std::to_string(runs++);
    const ProcessResult stopped = lesson.train(
        run, {"train.steps=100000", "run.flush_ms=1", slow, "run.fault_ms=100", "data.limit_valid=4"},
        {.signal = SIGTERM, .interrupt_when = when_steps(run, 2)});
    INFO(lesson.lesson << " " << slow << ": " << stopped.err);
    CHECK(stopped.code == 75);
  }
}

TEST_CASE("a slow disk is no error: the stall stands in the steps and in the summary") {
  const TempFolder folder;
  for (const LoaderLesson& lesson : kLoaderLessons) {
    const fs::path run = folder / (lesson.lesson + lesson.sets.front());
    const ProcessResult result =
        lesson.train(run, {"train.steps=6", "data.throttle_mb_per_s=10", "data.limit_valid=4"});
    INFO(result.err);
    REQUIRE(result.code == 0);
    // 5 to 8 fields of 20 x 48 x 96 floats are at least 184 ms at 10 MB/s, and nobody reads before the first
    // step asks.
    CHECK(of_kind(stream(run), "step").front()["stall_us"].as_number() >= 180'000);
    CHECK(of_kind(stream(run), "summary").back().contains("stall_us"));
    CHECK_THAT(result.out, says("held to 10 MB/s"));
  }
}

TEST_CASE("workers that end with each epoch change no bit") {
  const TempFolder folder;
  for (const char* const fault : {"none", "respawn"}) {
    const fs::path run = folder / fault;
    const ProcessResult result =
        train_lesson("02_workers", run,
                     with(kTwenty, {"data.workers=2", "data.prefetch=4", std::string("run.fault=") + fault}));
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK(weights(run) == weights(uninterrupted()));
  }
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
    return of_kind(stream(folder / name), "note").front()["loader"].as_text();
  };
  CHECK_THAT(loader("03_gpu_loaderone_slot"), says("fill 1 slot "));
  CHECK_THAT(loader("02_workersoversubscribe"), says(std::to_string(8 * usable_cores()) + " threads"));
}
