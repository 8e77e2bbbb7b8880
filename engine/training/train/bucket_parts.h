#pragma once
// The two parts of comm.sync = buckets that an exercise writes: who cuts gradients into buckets, and what
// sends these.
#include <functional>
#include <optional>
#include <vector>

#include "config/config.h"
#include "core/seam.h"
#include "train/gradient_buckets.h"
#include "train/gradient_sync.h"

namespace isobar {

/// Asked in front of each step until it gives a plan: the same on all ranks, as is what it is given.
using BucketPlanner = std::function<std::optional<std::vector<PlannedBucket>>(const GradientOrder&)>;

struct BucketParts {
  BucketPlanner planner;  ///< none: the holder of the sync may plan, and `begin` does by comm.bucket_mb
  MakeBucketDispatcher make_dispatcher;
};

inline BucketParts own_bucket_parts(const CommConfig& config, int /*ranks*/) {
  return {.planner = {}, .make_dispatcher = own_bucket_dispatcher(/*copies=*/!config.bucket_view)};
}

/// make_bucket_sync of gradient_sync.h, with these parts in place of those of the seam.
std::unique_ptr<GradientSync> make_sync_of_parts(Parameters& parameters, Comm& comm, const CommConfig& config,
                                                 BucketParts parts);

namespace seams {

inline constinit Seam<BucketParts(const CommConfig&, int ranks)> bucket_parts{own_bucket_parts};

}  // namespace seams
}  // namespace isobar
