#include "compress/compressed_sync.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <deque>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "train/bucket_parts.h"

namespace isobar {
namespace {

/// Counts the time for which a task stands still.
class TimedMessenger final : public BucketMessenger {
 public:
  explicit TimedMessenger(BucketMessenger& messenger) : messenger_(messenger) {}
  int ranks() const override { return messenger_.ranks(); }
  void send(std::size_t message, const at::Tensor& values, Reduce reduce) override {
    messenger_.send(message, values, reduce);
  }
  void wait(std::size_t message) override {
    const std::int64_t begin_us = steady_us();
    messenger_.wait(message);
    waited_us_ += steady_us() - begin_us;
  }
  std::int64_t waited_us() const { return waited_us_; }

 private:
  BucketMessenger& messenger_;
  std::int64_t waited_us_ = 0;
};

class TaskDispatcher final : public BucketDispatcher {
 public:
  TaskDispatcher(BucketsToSend buckets, BucketMessenger& messenger, bool overlap, Compression& compression,
                 const BucketWay& way)
      : messenger_(messenger), overlap_(overlap), compression_(compression), way_(way) {
    compression_.plan(buckets);
  }

  void begin() override {
    tasks_.clear();
    buckets_.clear();
    sent_ = 0;
    figures_ = {};
    const std::vector<PlannedBucket>& plan = compression_.begin_step();
    missing_.clear();
    bucket_of_.clear();
    for (const PlannedBucket& bucket : plan) {
      bucket_of_.insert(bucket_of_.end(), bucket.count, missing_.size());
      missing_.push_back(bucket.count);
    }
  }

  std::size_t messages(std::size_t /*buckets*/) const override {
    std::size_t out = 0;
    for (std::size_t bucket = 0; bucket < missing_.size(); ++bucket)
      out += static_cast<std::size_t>(compression_.rounds(bucket));
    return out;
  }

  void ready(std::size_t gradient) override {
    --missing_[bucket_of_[gradient]];
    if (!overlap_) return;
    const std::int64_t waited_us = act([this] { begin_full_buckets(); });
    figures_.backward_wait_us += waited_us;
  }

  void finish() override {
    const std::int64_t before_us = figures_.arithmetic_us;
    act([this] {
      begin_full_buckets();
      if (!tasks_.empty()) send_all(tasks_.size() - 1);
      for (std::size_t bucket = 0; bucket < tasks_.size(); ++bucket) end(bucket);
    });
    figures_.late_us = figures_.arithmetic_us - before_us;
  }

  DispatchFigures figures() const override { return figures_; }

 private:
  /// Work of the tasks, apart from the time for which they stood still, which it returns.
  template <typename Act>
  std::int64_t act(const Act& act_now) {
    const at::NoGradGuard no_grad;
    const std::int64_t begin_us = steady_us();
    const std::int64_t before_us = messenger_.waited_us();
    act_now();
    const std::int64_t waited_us = messenger_.waited_us() - before_us;
    if (compression_.compresses()) figures_.arithmetic_us += steady_us() - begin_us - waited_us;
    return waited_us;
  }

  /// Runs a task behind the last message of its bucket. Error (exit code 1) where it has another number of
  /// them.
  void send_all(std::size_t bucket) {
    const int rounds = compression_.rounds(bucket);
    while (!tasks_[bucket].done() && buckets_[bucket].rounds() < rounds) tasks_[bucket].resume();
    check_rounds(bucket, buckets_[bucket].rounds() == rounds);
  }
  void end(std::size_t bucket) {
    if (!tasks_[bucket].done()) tasks_[bucket].resume();
    check_rounds(bucket, tasks_[bucket].done());
  }
  void check_rounds(std::size_t bucket, bool good) const {
    if (good) return;
    throw Error(fmt::format("bucket {} has {} all-reduces in a step, and its payload is for {}", bucket,
                            buckets_[bucket].rounds(), compression_.rounds(bucket)),
                "the page's task of a bucket", "co_await an all-reduce until transform() gives nothing",
                Exit::failed);
  }

  void begin_full_buckets() {
    for (std::size_t bucket = tasks_.size(); bucket < missing_.size() && missing_[bucket] == 0; ++bucket) {
      buckets_.emplace_back(bucket, messenger_, sent_);
      tasks_.push_back(way_(buckets_.back()));
      tasks_.back().resume();
      if (bucket > 0) send_all(bucket - 1);
    }
  }

  TimedMessenger messenger_;
  bool overlap_;
  Compression& compression_;
  const BucketWay& way_;
  std::vector<std::size_t> bucket_of_;  ///< by gradient
  std::vector<std::size_t> missing_;    ///< gradients, by bucket
  std::size_t sent_ = 0;                ///< messages of this step
  std::deque<SentBucket> buckets_;      ///< begun; a task keeps its own by reference
  std::deque<BucketTask> tasks_;
  DispatchFigures figures_;
};

}  // namespace

std::unique_ptr<GradientSync> make_compressed_sync(Parameters& parameters, Comm& comm,
                                                   const CommConfig& config, Compression& compression,
                                                   BucketWay way) {
  if (config.average == Averaged::weights) return make_no_sync(parameters, comm, config);
  // Copies of gradients, and a rank alone, need no task.
  const bool is_plain = config.compress == CompressKind::none && (comm.size() == 1 || !config.bucket_view);
  if (is_plain || config.sync != SyncKind::buckets) return make_gradient_sync(parameters, comm, config);
  BucketParts parts = seams::bucket_parts(config, comm.size());
  parts.make_dispatcher = [&compression, overlap = config.overlap, way = std::move(way)](
                              BucketsToSend buckets, BucketMessenger& messenger) {
    return std::make_unique<TaskDispatcher>(std::move(buckets), messenger, overlap, compression, way);
  };
  return make_sync_of_parts(parameters, comm, config, std::move(parts));
}

}  // namespace isobar
