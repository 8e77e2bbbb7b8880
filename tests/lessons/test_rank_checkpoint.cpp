// A checkpoint of several ranks is that of all, or there is none.
#include <catch2/catch.hpp>

#include "lessons/rank_run.h"

using namespace isobar;

namespace fs = std::filesystem;

TEST_CASE("rank 0 completes no checkpoint after another rank is gone") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const ProcessResult result =
      run_ranks(2, run,
                {"train.steps=6", "train.checkpoint_every=2", "run.fault=kill_rank",
                 "run.fault_stage=checkpoint", "run.fault_step=3", "run.fault_rank=1"});
  INFO(result.out << result.err);
  CHECK(result.code == 137);
  CHECK(fs::exists(run / "checkpoints/step-000002"));
  CHECK_FALSE(fs::exists(run / "checkpoints/step-000004"));
}
