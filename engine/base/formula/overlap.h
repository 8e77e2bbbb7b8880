#pragma once
// What a step takes when its gradients are communicated bucket by bucket beside the backward pass. Bucket i
// is ready at r_i, takes c_i, and goes when the one before is done: f_i = max(r_i, f_(i-1)) + c_i. The step
// is forward + max(backward (1 + k), f_last) + optimiser. Microseconds.
#include <functional>
#include <vector>

#include "formula/bucket_plan.h"

namespace isobar {

struct BucketTime {
  double ready_us = 0;  ///< r_i, since the backward pass began
  double cost_us = 0;   ///< c_i
};

struct OverlappedStep {
  double forward_us = 0;
  double backward_us = 0;
  double optimize_us = 0;
  double slowdown = 0;  ///< k: what computing loses to communication beside it (0.15 NVLink, 0.02 InfiniBand)
};

/// Gradients that become ready evenly over backward; `cost_us` is that of an all-reduce of so many bytes.
std::vector<BucketTime> even_bucket_times(const std::vector<PlannedBucket>& plan, double backward_us,
                                          const std::function<double(double bytes)>& cost_us);

/// f_i, since the backward pass began.
std::vector<double> bucket_finishes_us(const std::vector<BucketTime>& buckets);
/// Communication that nothing hides: max(0, f_last - backward (1 + k)).
double exposed_us(const OverlappedStep& step, const std::vector<BucketTime>& buckets);
double overlapped_step_us(const OverlappedStep& step, const std::vector<BucketTime>& buckets);

}  // namespace isobar
