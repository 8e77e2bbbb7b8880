#pragma once
// What is given and what is promised in the exercise of lesson 10. You write my/10_timed_buckets.cpp.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "formula/bucket_plan.h"  // PlannedBucket: the gradients [first, first + count), and their bytes
#include "formula/link.h"         // Link; ring_all_reduce_us(link, ranks, bytes)

namespace isobar::exercise {

/// Given: a gradient, and when backward has it.
struct TimedGradient {
  std::int64_t bytes = 0;
  double ready_us = 0;  ///< since backward began
};

/// Given: the communication of one step, and what it has to hide behind.
struct TimedStep {
  std::vector<TimedGradient> gradients = {};  ///< in the order in which they become ready
  double backward_us = 0;                     ///< when backward ends, since it began
  Link link;                                  ///< carries one message after the other
  int ranks = 1;
};

/// Given: carries messages between the ranks.
class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual int ranks() const = 0;
  /// Starts the all-reduce of a bucket's message and returns at once. From then on until `wait` its memory
  /// belongs to the messenger. All ranks send the same buckets in the same order.
  virtual void send(std::size_t bucket, std::span<float> message) = 0;
  /// Returns when each value of the bucket's message is the sum over all ranks.
  virtual void wait(std::size_t bucket) = 0;
};

/// Gradients that travel as copies. One thread calls it: `begin`, `ready` once for each gradient, `finish`.
class PackedBuckets {
 public:
  virtual ~PackedBuckets() = default;
  /// Backward begins, and no gradient is ready.
  virtual void begin() = 0;
  /// The hook: this gradient is ready, in whatever order they come. Packs it: copies it to its place in the
  /// message of its bucket, where the gradients lie side by side in the order of the plan. Until `finish` the
  /// memory of the gradient may serve something else. Then sends each message whose gradients are all packed,
  /// as soon as those of all buckets before it were sent.
  virtual void ready(std::size_t gradient) = 0;
  /// Behind backward: waits for each bucket's message and unpacks it. All gradients hold the mean over the
  /// ranks when it returns.
  virtual void finish() = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// When each bucket of the plan has gone over the link, since backward began. A bucket is ready with its last
/// gradient, goes when the one before is through, and takes the time of a ring all-reduce of its bytes.
std::vector<double> finishes_us(const exercise::TimedStep& step, const std::vector<PlannedBucket>& plan);

/// What of the communication backward does not hide: how much later the last bucket is through than backward.
double exposed_us(const exercise::TimedStep& step, const std::vector<PlannedBucket>& plan);

/// The way to cut the gradients into buckets, in their order, whose last bucket is through first;
/// if several are, one with the fewest buckets. A gradient is never divided. No gradients, no buckets. It
/// must not take long: models have hundreds of gradients.
std::vector<PlannedBucket> quickest_plan(const exercise::TimedStep& step);

/// `plan` is one of `gradients`, which outlive the object. Each bucket has a message of its own, in the same
/// memory in every step.
std::unique_ptr<exercise::PackedBuckets> make_packed_buckets(std::vector<PlannedBucket> plan,
                                                             std::vector<std::span<float>> gradients,
                                                             exercise::Messenger& messenger);

}  // namespace isobar::mine
