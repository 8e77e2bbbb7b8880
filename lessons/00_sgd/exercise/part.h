#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "00_sgd/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  void (*take_step)(Line& line, const Line& gradient, double lr);
  void (*share_start)(RankGroup& group, Line& line);
  void (*average)(RankGroup& group, Line& gradient);
  std::vector<Line> (*train_rank)(const RankTask& task);
};

}  // namespace isobar::exercise
