#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "14_checkpointing/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::vector<BlockRange> (*runs_of)(int blocks, int every);
  std::int64_t (*peak_bytes)(int blocks, int every, std::int64_t input_bytes, std::int64_t block_bytes);
  int (*best_every)(int blocks, std::int64_t input_bytes, std::int64_t block_bytes);
  std::unique_ptr<CheckpointedPass> (*make_checkpointed_pass)(BlockRun& run);
  std::vector<double> (*loss_factors)(const std::vector<int>& samples);
};

}  // namespace isobar::exercise
