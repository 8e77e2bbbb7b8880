#pragma once
// What is given and what is promised in the exercise of lesson 06. You write my/06_buckets.cpp.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "formula/bucket_plan.h"  // PlannedBucket: the gradients [first, first + count)

namespace isobar::exercise {

/// Given: starts the all-reduce of a bucket, by its place in the plan, and returns at once. All ranks must
/// send the same buckets in the same order, or they wait for each other for ever.
using SendBucket = std::function<void(std::size_t bucket)>;

/// Thrown by `ready` when a gradient comes twice in one step.
struct GradientCameTwice : std::logic_error {
  explicit GradientCameTwice(std::size_t which)
      : std::logic_error("gradient " + std::to_string(which) + " came twice in one step"), gradient(which) {}
  std::size_t gradient;
};

/// Thrown by `finish` when gradients never came: which, in ascending order.
struct GradientsMissing : std::runtime_error {
  explicit GradientsMissing(std::vector<std::size_t> which)
      : std::runtime_error(std::to_string(which.size()) + " gradients never came"),
        gradients(std::move(which)) {}
  std::vector<std::size_t> gradients;
};

/// Sends buckets while backward runs. One thread calls it.
class BucketSender {
 public:
  virtual ~BucketSender() = default;
  /// The gradients of the next backward pass are to travel. It forgets the step before, also one that threw.
  virtual void begin() = 0;
  /// The hook: this gradient is there, in whatever order they come. Sends each bucket as soon as all of its
  /// gradients are there and all buckets before it were sent. Does nothing outside of begin() and finish(),
  /// as in the passes of micro-batches that are not the last.
  virtual void ready(std::size_t gradient) = 0;
  /// Behind backward: all gradients came, and all buckets were sent; else it throws, and the step is over
  /// too.
  virtual void finish() = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: `sizes_bytes` are those of gradients in the order in which they are expected, last layer first.
/// Closes a bucket as soon as it holds its cap: the first one min(first_cap_bytes, cap_bytes), all others
/// cap_bytes. A gradient is never divided. What is left at the end is a bucket too; no gradients, no bucket.
std::vector<PlannedBucket> bucket_plan(const std::vector<std::int64_t>& sizes_bytes,
                                       std::int64_t first_cap_bytes, std::int64_t cap_bytes);

/// Gradients are known by their place in `sizes_bytes`, and `plan` is one of bucket_plan.
std::unique_ptr<exercise::BucketSender> make_bucket_sender(std::vector<PlannedBucket> plan,
                                                           exercise::SendBucket send);

}  // namespace isobar::mine
