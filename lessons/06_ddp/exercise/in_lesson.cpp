// ./isobar run 06_ddp --mine: gradients leave in the learner's buckets, when the learner's sender sends them.
// Other ways of comm.sync are the engine's.
#include "06_ddp/exercise/part.h"
#include "check/own_part.h"
#include "train/bucket_parts.h"

using namespace isobar;

namespace {

const exercise::Part& part() { return own_part_as<exercise::Part>(); }

class YourSender final : public BucketDispatcher {
 public:
  YourSender(BucketsToSend buckets, BucketMessenger& messenger)
      : buckets_(std::move(buckets)),
        messenger_(messenger),
        yours_(part().make_bucket_sender(buckets_.plan, [this](std::size_t bucket) {
          messenger_.send(bucket, buckets_.stretches.at(bucket), buckets_.reduce);
        })) {}

  void begin() override { yours_->begin(); }
  void ready(std::size_t gradient) override { yours_->ready(gradient); }
  void finish() override {
    yours_->finish();
    for (std::size_t bucket = 0; bucket < buckets_.plan.size(); ++bucket) messenger_.wait(bucket);
  }

 private:
  BucketsToSend buckets_;
  BucketMessenger& messenger_;
  std::unique_ptr<exercise::BucketSender> yours_;
};

const PluggedIn parts(seams::bucket_parts, [](const CommConfig& config, int /*ranks*/) {
  return BucketParts{.planner =
                         [config](const GradientOrder& order) {
                           return part().bucket_plan(order.sizes_bytes, mebibytes(config.first_bucket_mb),
                                                     mebibytes(config.bucket_mb));
                         },
                     .make_dispatcher =
                         [](BucketsToSend buckets, BucketMessenger& messenger) {
                           return std::make_unique<YourSender>(std::move(buckets), messenger);
                         }};
});

}  // namespace
