#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "12_scaling/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  double (*efficiency)(ScalingKind scaling, const SeriesPoint& first, const SeriesPoint& point);
  double (*study_s)(const std::vector<Repeat>& repeats);
  double (*bus_bandwidth)(const Machine& machine, int nodes);
  double (*all_reduce_us)(const Machine& machine, int ranks, double bytes);
  std::vector<double> (*finishes_us)(const UnevenStep& step, const Machine& machine);
  double (*step_us)(const UnevenStep& step, const Machine& machine);
  double (*noise_scale)(const std::vector<SquaredNorms>& steps, int local_batch, int ranks);
};

}  // namespace isobar::exercise
