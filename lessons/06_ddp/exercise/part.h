#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "06_ddp/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::vector<PlannedBucket> (*bucket_plan)(const std::vector<std::int64_t>& sizes_bytes,
                                            std::int64_t first_cap_bytes, std::int64_t cap_bytes);
  std::unique_ptr<BucketSender> (*make_bucket_sender)(std::vector<PlannedBucket> plan, SendBucket send);
};

}  // namespace isobar::exercise
