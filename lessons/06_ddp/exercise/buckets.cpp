// Lesson 06: which gradients travel together, and a hook that sends them as soon as they are there.
// exercise.h says what is given and what is promised; ./isobar check 06_ddp looks at what you wrote.
#include <algorithm>
#include <utility>

#include "06_ddp/exercise/exercise.h"

namespace isobar::mine {

using exercise::GradientCameTwice;
using exercise::GradientsMissing;
using exercise::SendBucket;

std::vector<PlannedBucket> bucket_plan(const std::vector<std::int64_t>& sizes_bytes,
                                       std::int64_t first_cap_bytes, std::int64_t cap_bytes) {
  std::vector<PlannedBucket> plan;
  // BEGIN Put one gradient after the other into an open bucket; close it when it holds its cap.
  PlannedBucket open;
  for (const std::int64_t bytes : sizes_bytes) {
    ++open.count;
    open.bytes += bytes;
    const std::int64_t cap = plan.empty() ? std::min(first_cap_bytes, cap_bytes) : cap_bytes;
    if (open.bytes < cap) continue;
    plan.push_back(open);
    open = {.first = open.first + open.count, .count = 0, .bytes = 0};
  }
  if (open.count > 0) plan.push_back(open);
  // END
  return plan;
}

class Sender : public exercise::BucketSender {
 public:
  Sender(std::vector<PlannedBucket> plan, SendBucket send) : plan_(std::move(plan)), send_(std::move(send)) {
    // BEGIN Fill bucket_of_: for each gradient, the bucket that it belongs to.
    for (std::size_t bucket = 0; bucket < plan_.size(); ++bucket)
      bucket_of_.insert(bucket_of_.end(), plan_[bucket].count, bucket);
    // END
  }

  void begin() override {
    // BEGIN No gradient is there, all of each bucket is missing, nothing was sent.
    came_.assign(bucket_of_.size(), false);
    missing_.clear();
    for (const PlannedBucket& bucket : plan_) missing_.push_back(bucket.count);
    sent_ = 0;
    in_step_ = true;
    // END
  }

  void ready(std::size_t gradient) override {
    // BEGIN Note that it came, once; then send what is full and next in turn.
    if (!in_step_) return;
    if (came_.at(gradient)) throw GradientCameTwice(gradient);
    came_[gradient] = true;
    --missing_[bucket_of_[gradient]];
    while (sent_ < plan_.size() && missing_[sent_] == 0) send_(sent_++);
    // END
  }

  void finish() override {
    // BEGIN The step is over. Which gradients never came?
    in_step_ = false;
    std::vector<std::size_t> never;
    for (std::size_t gradient = 0; gradient < came_.size(); ++gradient)
      if (!came_[gradient]) never.push_back(gradient);
    if (!never.empty()) throw GradientsMissing(never);
    // END
  }

 private:
  const std::vector<PlannedBucket> plan_;
  const SendBucket send_;
  std::vector<std::size_t> bucket_of_;  ///< by gradient
  std::vector<bool> came_;              ///< by gradient, in this step
  std::vector<std::size_t> missing_;    ///< by bucket: how many of its gradients are not there yet
  std::size_t sent_ = 0;                ///< buckets of this step; the next one to send
  bool in_step_ = false;                ///< between begin() and finish()
};

std::unique_ptr<exercise::BucketSender> make_bucket_sender(std::vector<PlannedBucket> plan, SendBucket send) {
  return std::make_unique<Sender>(std::move(plan), std::move(send));
}

}  // namespace isobar::mine
