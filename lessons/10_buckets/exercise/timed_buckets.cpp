// Lesson 10: when buckets are through, which cut is the quickest, and messages that are copies.
// exercise.h says what is given and what is promised; ./isobar check 10_buckets looks at what you wrote.
#include <algorithm>
#include <limits>
#include <utility>

#include "10_buckets/exercise/exercise.h"

namespace isobar::mine {

using exercise::Messenger;
using exercise::TimedStep;

std::vector<double> finishes_us(const TimedStep& step, const std::vector<PlannedBucket>& plan) {
  std::vector<double> finishes;
  // BEGIN When is a bucket ready, when is the link free for it, and how long does it take?
  double free_us = 0;
  for (const PlannedBucket& bucket : plan) {
    const double ready_us = step.gradients[bucket.first + bucket.count - 1].ready_us;
    const double cost_us = ring_all_reduce_us(step.link, step.ranks, static_cast<double>(bucket.bytes));
    free_us = std::max(ready_us, free_us) + cost_us;
    finishes.push_back(free_us);
  }
  // END
  return finishes;
}

double exposed_us(const TimedStep& step, const std::vector<PlannedBucket>& plan) {
  // BEGIN How much later than backward is the last bucket through?
  //> return 0;
  if (plan.empty()) return 0;
  return std::max(0.0, finishes_us(step, plan).back() - step.backward_us);
  // END
}

std::vector<PlannedBucket> quickest_plan(const TimedStep& step) {
  std::vector<PlannedBucket> plan;
  const std::size_t count = step.gradients.size();
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // through[k][n]: when the first n gradients can be through in k buckets; begin[k][n]: the gradient with
  // which the last of those buckets then begins.
  std::vector<std::vector<double>> through(count + 1, std::vector<double>(count + 1, kNever));
  std::vector<std::vector<std::size_t>> begin(count + 1, std::vector<std::size_t>(count + 1));
  through[0][0] = 0;
  // BEGIN Fill both: k buckets are k - 1 buckets, and one more from each place where it might begin.
  for (std::size_t k = 1; k <= count; ++k) {
    for (std::size_t n = k; n <= count; ++n) {
      double bytes = 0;
      for (std::size_t first = n; first-- >= k;) {
        bytes += static_cast<double>(step.gradients[first].bytes);
        const double starts_us = std::max(step.gradients[n - 1].ready_us, through[k - 1][first]);
        const double ends_us = starts_us + ring_all_reduce_us(step.link, step.ranks, bytes);
        if (ends_us >= through[k][n]) continue;
        through[k][n] = ends_us;
        begin[k][n] = first;
      }
    }
  }
  // END
  // BEGIN Which number of buckets is through first? Walk back from the last of them.
  std::size_t buckets = std::min<std::size_t>(1, count);
  for (std::size_t k = 1; k <= count; ++k)
    if (through[k][count] < through[buckets][count]) buckets = k;
  for (std::size_t end = count; buckets > 0; --buckets) {
    PlannedBucket bucket{.first = begin[buckets][end], .count = end - begin[buckets][end], .bytes = 0};
    for (std::size_t i = bucket.first; i < end; ++i) bucket.bytes += step.gradients[i].bytes;
    plan.insert(plan.begin(), bucket);
    end = bucket.first;
  }
  // END
  return plan;
}

class Packed : public exercise::PackedBuckets {
 public:
  Packed(std::vector<PlannedBucket> plan, std::vector<std::span<float>> gradients, Messenger& messenger)
      : plan_(std::move(plan)), gradients_(std::move(gradients)), messenger_(messenger) {
    // BEGIN Fill place_, and take memory for the message of each bucket.
    for (std::size_t bucket = 0; bucket < plan_.size(); ++bucket) {
      std::size_t values = 0;
      for (std::size_t i = 0; i < plan_[bucket].count; ++i) {
        place_.push_back({.bucket = bucket, .begin = values});
        values += gradients_[plan_[bucket].first + i].size();
      }
      messages_.emplace_back(values);
    }
    // END
  }

  void begin() override {
    missing_.clear();
    for (const PlannedBucket& bucket : plan_) missing_.push_back(bucket.count);
    sent_ = 0;
  }

  void ready(std::size_t gradient) override {
    // BEGIN Pack it; then send each message that is full and next in turn.
    const Place place = place_[gradient];
    std::ranges::copy(gradients_[gradient], messages_[place.bucket].data() + place.begin);
    --missing_[place.bucket];
    for (; sent_ < plan_.size() && missing_[sent_] == 0; ++sent_) messenger_.send(sent_, messages_[sent_]);
    // END
  }

  void finish() override {
    // BEGIN Of each bucket: wait for its message, and make means of its sums, where the gradients lie.
    const auto ranks = static_cast<float>(messenger_.ranks());
    for (std::size_t bucket = 0; bucket < plan_.size(); ++bucket) {
      messenger_.wait(bucket);
      const float* sum = messages_[bucket].data();
      for (std::size_t i = 0; i < plan_[bucket].count; ++i)
        for (float& value : gradients_[plan_[bucket].first + i]) value = *sum++ / ranks;
    }
    // END
  }

 private:
  struct Place {
    std::size_t bucket = 0;
    std::size_t begin = 0;  ///< a value of the bucket's message, from 0
  };

  const std::vector<PlannedBucket> plan_;
  const std::vector<std::span<float>> gradients_;
  Messenger& messenger_;
  std::vector<Place> place_;                  ///< by gradient
  std::vector<std::vector<float>> messages_;  ///< by bucket
  std::vector<std::size_t> missing_;          ///< by bucket: how many of its gradients are not packed yet
  std::size_t sent_ = 0;                      ///< buckets of this step; the next one to send
};

std::unique_ptr<exercise::PackedBuckets> make_packed_buckets(std::vector<PlannedBucket> plan,
                                                             std::vector<std::span<float>> gradients,
                                                             Messenger& messenger) {
  return std::make_unique<Packed>(std::move(plan), std::move(gradients), messenger);
}

}  // namespace isobar::mine
