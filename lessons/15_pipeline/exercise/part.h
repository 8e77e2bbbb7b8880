#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "15_pipeline/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  int (*warm_up)(const PipeRank& at);
  double (*idle_of_step)(int ranks, int parts);
  int (*most_kept)(const PipeRank& at);
  std::vector<PipeAction> (*one_f_one_b)(const PipeRank& at);
  PipePartners (*partners_of)(const PipeRank& at, PipeWork work);
  std::vector<PipeAction> (*split_backward)(const PipeRank& at);
};

}  // namespace isobar::exercise
