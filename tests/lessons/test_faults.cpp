// The system fails under a run: no memory, no disk, a clock that jumps.
#include <cmath>

#include "core/files.h"
#include "core/json.h"
#include "fields/checkpoint_folder.h"
#include "lessons/resumed_run.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("a wall clock that jumps back changes no duration") {
  const TempFolder folder;
  const ProcessResult result =
      train(folder / "run", with(kTwenty, {"train.checkpoint_every=5"}),
            {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_CLOCK_BACK=3600"}});
  REQUIRE(result.code == 0);
  for (const Json& line : stream(folder / "run")) {
    for (const std::string& key : line.keys()) {
      if (key.ends_with("_us")) CHECK(line[key].as_number() >= 0);
    }
  }
  CHECK(weights(folder / "run") == weights(uninterrupted()));
}

TEST_CASE("memory that runs out, or would, is told with figures and the stage") {
  const TempFolder folder;
  const ProcessResult refused =
      run_lesson({std::string(ISOBAR_BIN) + "/01_baseline", "--preset", "cpu_micro", "--run-dir",
                  (folder / "large").string(), "--set", "data.root=" + data().string(), "--set",
                  "train.global_batch=100000000"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("would take about") && says("are free") && says("smaller train.global_batch"));
  CHECK_FALSE(fs::exists(folder / "large"));
  // The output of the first linear layer of an MLP: 4 samples, 72 tokens, 4 x 96 values.
  const ProcessResult failed =
      train(folder / "run", {"train.steps=20"},
            {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_ALLOC_FAIL=442368"}});
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, says("out of memory") && says("442 kB more were asked for") && says("validating"));
  CHECK(stream(folder / "run").back()["status"] == "failed");
}

TEST_CASE(
    "a disk that is full at any of its files ends the run with that file's name, and nothing before is "
    "lost") {
  const TempFolder folder;
  // Writes of all files below the run folder, in their order: run.toml, console, stream, event file, fields,
  // checkpoints.
  int failed = 0;
  for (int at = 2; at <= 42; at += 4) {
    const fs::path run = folder / std::to_string(at);
    const ProcessResult result =
        train(run, with(kTwenty, {"train.checkpoint_every=2"}),
              {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_UNDER=" + run.string(),
                               "SHIM_ONLY=write", "SHIM_FAIL_AT=" + std::to_string(at), "SHIM_ERRNO=28"}});
    INFO("write " << at << ": " << result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("No space left") && says(run.string()) && says("are free there"));
    ++failed;
    const CheckpointSearch kept = find_checkpoint(run / "checkpoints");
    if (fs::exists(run / "rank-0000.jsonl")) CHECK_NOTHROW(stream(run));
    if (kept.newest) CHECK(kept.newest->step % 2 == 0);
  }
  CHECK(failed == 11);
}
