#include "formula/overlap.h"

#include <algorithm>

namespace isobar {

std::vector<BucketTime> even_bucket_times(const std::vector<PlannedBucket>& plan, double backward_us,
                                          const std::function<double(double bytes)>& cost_us) {
  double all = 0, so_far = 0;
  for (const PlannedBucket& bucket : plan) all += static_cast<double>(bucket.bytes);
  std::vector<BucketTime> out;
  for (const PlannedBucket& bucket : plan) {
    const auto bytes = static_cast<double>(bucket.bytes);
    so_far += bytes;
    out.push_back({backward_us * so_far / all, cost_us(bytes)});
  }
  return out;
}

std::vector<double> bucket_finishes_us(const std::vector<BucketTime>& buckets) {
  std::vector<double> out;
  double before_us = 0;
  for (const BucketTime& bucket : buckets) {
    before_us = std::max(bucket.ready_us, before_us) + bucket.cost_us;
    out.push_back(before_us);
  }
  return out;
}

double exposed_us(const OverlappedStep& step, const std::vector<BucketTime>& buckets) {
  if (buckets.empty()) return 0;
  return std::max(0.0, bucket_finishes_us(buckets).back() - step.backward_us * (1 + step.slowdown));
}

double overlapped_step_us(const OverlappedStep& step, const std::vector<BucketTime>& buckets) {
  return step.forward_us + step.backward_us * (1 + step.slowdown) + exposed_us(step, buckets) +
         step.optimize_us;
}

}  // namespace isobar
