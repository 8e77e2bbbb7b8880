// ./isobar run 10_buckets --mine: gradients travel in the learner's messages. With an emulated link
// (comm.link) the learner's planner cuts them, by the times of the second step on rank 0; else comm.bucket_mb
// does. Other ways of comm.sync, and sums that are not divided, are the engine's.
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "10_buckets/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "train/bucket_parts.h"

using namespace isobar;

namespace {

const exercise::Part& part() { return own_part_as<exercise::Part>(); }

class YourMessages final : public BucketDispatcher, private exercise::Messenger {
 public:
  YourMessages(const BucketsToSend& buckets, BucketMessenger& messenger) : messenger_(messenger) {
    std::vector<std::span<float>> gradients;
    for (const at::Tensor& gradient : buckets.gradients) {
      if (!gradient.is_cpu())
        throw Error("your messages lie in the memory of the host", "run.device", "--set run.device=cpu");
      gradients.emplace_back(gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel()));
    }
    yours_ = part().make_packed_buckets(buckets.plan, std::move(gradients), *this);
  }

  void begin() override { yours_->begin(); }
  void ready(std::size_t gradient) override { yours_->ready(gradient); }
  void finish() override { yours_->finish(); }

 private:
  int ranks() const override { return messenger_.ranks(); }
  void send(std::size_t bucket, std::span<float> message) override {
    messenger_.send(bucket,
                    at::from_blob(message.data(), {static_cast<std::int64_t>(message.size())}, at::kFloat),
                    Reduce::sum);
  }
  void wait(std::size_t bucket) override { messenger_.wait(bucket); }

  BucketMessenger& messenger_;
  std::unique_ptr<exercise::PackedBuckets> yours_;
};

/// A bucket waits for the last of its gradients, whatever their order.
exercise::TimedStep timed_step(const GradientOrder& order, const CommConfig& config, int ranks) {
  exercise::TimedStep step{.backward_us = order.backward_us,
                           .link = link_of(config.link.latency_us, config.link.gbit_per_s),
                           .ranks = ranks};
  double ready_us = 0;
  for (std::size_t i = 0; i < order.leaves.size(); ++i) {
    ready_us = std::max(ready_us, order.ready_us[i]);
    step.gradients.push_back({.bytes = order.sizes_bytes[i], .ready_us = ready_us});
  }
  return step;
}

BucketPlanner planner(const CommConfig& config, int ranks) {
  return [config, ranks,
          steps = 0](const GradientOrder& order) mutable -> std::optional<std::vector<PlannedBucket>> {
    if (order.ready_us.empty() || ++steps < 2) return {};  // the first step is a slow one
    if (config.link.latency_us > 0 || config.link.gbit_per_s > 0)
      return part().quickest_plan(timed_step(order, config, ranks));
    return bucket_plan(order.sizes_bytes, mebibytes(config.first_bucket_mb), mebibytes(config.bucket_mb));
  };
}

const PluggedIn parts(seams::bucket_parts, [](const CommConfig& config, int ranks) {
  if (has_fault(Fault::sum_gradients)) return own_bucket_parts(config, ranks);
  return BucketParts{.planner = planner(config, ranks),
                     .make_dispatcher = [](const BucketsToSend& buckets, BucketMessenger& messenger) {
                       return std::make_unique<YourMessages>(buckets, messenger);
                     }};
});

}  // namespace
