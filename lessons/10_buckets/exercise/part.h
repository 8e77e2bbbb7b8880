#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "10_buckets/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::vector<double> (*finishes_us)(const TimedStep& step, const std::vector<PlannedBucket>& plan);
  double (*exposed_us)(const TimedStep& step, const std::vector<PlannedBucket>& plan);
  std::vector<PlannedBucket> (*quickest_plan)(const TimedStep& step);
  std::unique_ptr<PackedBuckets> (*make_packed_buckets)(std::vector<PlannedBucket> plan,
                                                        std::vector<std::span<float>> gradients,
                                                        Messenger& messenger);
};

}  // namespace isobar::exercise
