#pragma once
// The hook of a part, driven through steps of which all values are known.
#include <memory>

#include "10_buckets/exercise/part.h"
#include "10_buckets/exercise/timed_plans.h"
#include "10_buckets/exercise/watched_messenger.h"

namespace isobar::exercise {

inline constexpr float kElsewhere = -1;  // what a gradient's memory holds once it is packed

/// The value of a gradient in a step, the first of which is 1: 102 is value 2 of gradient 0 in step 1.
inline float value_of(int step, std::size_t gradient, std::size_t value) {
  return static_cast<float>(1000 * (step - 1)) + static_cast<float>(100 * (gradient + 1) + value);
}

/// The hook with gradients whose memory serves something else as soon as it returns.
struct Drive {
  explicit Drive(const Part& part, int ranks = 2, Plan of = three_buckets(),
                 Places sizes = {2, 3, 1, 4, 1, 2})
      : plan(std::move(of)), messenger(ranks) {
    for (const std::size_t size : sizes) memory.emplace_back(size);
    packed = part.make_packed_buckets(plan, {memory.begin(), memory.end()}, messenger);
  }
  void begin(int which) {
    step = which;
    for (std::size_t gradient = 0; gradient < memory.size(); ++gradient)
      std::ranges::copy(own(gradient), memory[gradient].begin());
    messenger.begin();
    packed->begin();
  }
  void ready(const Places& gradients) {
    for (const std::size_t gradient : gradients) {
      packed->ready(gradient);
      std::ranges::fill(memory[gradient], kElsewhere);
    }
  }
  void run(int which, const Places& order = {0, 1, 2, 3, 4, 5}) {
    begin(which);
    ready(order);
    packed->finish();
  }

  Values own(std::size_t gradient) const {
    Values out;
    for (std::size_t i = 0; i < memory[gradient].size(); ++i) out.push_back(value_of(step, gradient, i));
    return out;
  }
  /// The gradients of a bucket, side by side.
  Values own_message(std::size_t bucket) const {
    Values out;
    for (std::size_t i = 0; i < plan[bucket].count; ++i)
      for (const float value : own(plan[bucket].first + i)) out.push_back(value);
    return out;
  }
  Places sent() const {
    Places out;
    for (const auto& message : messenger.sent()) out.push_back(message.bucket);
    return out;
  }

  Plan plan;
  std::vector<Values> memory;  ///< by gradient
  WatchedMessenger messenger;
  std::unique_ptr<PackedBuckets> packed;
  int step = 0;
};

}  // namespace isobar::exercise
