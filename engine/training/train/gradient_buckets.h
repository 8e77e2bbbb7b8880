#pragma once
// Gradients in buckets that travel while backward runs. A bucket is a stretch of the flat gradients. When
// it leaves, and in which memory, is up to a dispatcher: ours, or one that is handed in.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "formula/bucket_plan.h"
#include "train/sync_waits.h"

namespace isobar {

/// One gradient's place in the flat gradients.
struct GradientPlace {
  std::string name;
  std::int64_t begin = 0;  ///< first element
  std::int64_t count = 0;
};

/// Carries the messages of a step. They are numbered in the order in which they are sent; a dispatcher that
/// sends each bucket as it is gives them the numbers of the buckets.
class BucketMessenger {
 public:
  virtual ~BucketMessenger() = default;
  virtual int ranks() const = 0;
  /// Starts the all-reduce of a message and returns at once: once a step, in the same order on all
  /// ranks. The message belongs to the messenger until `wait`.
  virtual void send(std::size_t bucket, const at::Tensor& message, Reduce reduce) = 0;
  /// Returns when the message holds what all ranks made of it.
  virtual void wait(std::size_t bucket) = 0;
};

/// Buckets as they were planned, and where their gradients lie.
struct BucketsToSend {
  std::vector<PlannedBucket> plan;
  std::vector<std::size_t> leaves;    ///< place of each gradient before the plan, in the order of the plan
  std::vector<at::Tensor> gradients;  ///< in the order of the plan; views of the flat gradients
  std::vector<at::Tensor> stretches;  ///< by bucket: its gradients as one view
  Reduce reduce = Reduce::mean;
};

/// What a dispatcher did on the thread that computes, in this step.
struct DispatchFigures {
  std::int64_t arithmetic_us = 0;     ///< working out messages, and gradients from them
  std::int64_t late_us = 0;           ///< part of it when backward was done
  std::int64_t backward_wait_us = 0;  ///< standing still for a message while backward was not done
};

/// One thread calls it: `begin`, `ready` once for each gradient, `finish`; after a step that threw, `begin`.
class BucketDispatcher {
 public:
  virtual ~BucketDispatcher() = default;
  virtual void begin() = 0;
  /// Messages of the step that has begun.
  virtual std::size_t messages(std::size_t buckets) const { return buckets; }
  /// A gradient is whole, by its place in the plan, in whatever order they come.
  virtual void ready(std::size_t gradient) = 0;
  /// All came. Each bucket was sent and waited for when it returns, and the gradients are those of all ranks.
  virtual void finish() = 0;
  virtual DispatchFigures figures() const { return {}; }
};

/// The messenger outlives what is made.
using MakeBucketDispatcher =
    std::function<std::unique_ptr<BucketDispatcher>(BucketsToSend, BucketMessenger&)>;

/// Ours: a bucket leaves with its last gradient, behind all before it. With `copies` each has memory of its
/// own, into which gradients are copied as they become ready, and from which `finish` copies them back
/// (PyTorch's gradient_as_bucket_view=False).
MakeBucketDispatcher own_bucket_dispatcher(bool copies);

class GradientBuckets final : private BucketMessenger {
 public:
  struct Arrival {
    std::size_t place = 0;
    std::int64_t at_us = 0;  ///< since `begin`
  };

  /// `flat` holds all gradients; `reduce` is mean. Without `overlap` all buckets leave in `finish`. `comm`
  /// outlives this.
  GradientBuckets(Comm& comm, at::Tensor flat, Reduce reduce, bool overlap,
                  MakeBucketDispatcher make_dispatcher);
  /// Waits for what is under way; failures then are not reported.
  ~GradientBuckets() override;
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// From now on the places `order` are cut by `plan`, which is equal on all ranks; those of a bucket lie
  /// side by side. Not between `begin` and `finish`. Error (exit code 1) unless each place is in one bucket.
  void plan(std::vector<GradientPlace> places, const std::vector<std::size_t>& order,
            std::vector<PlannedBucket> plan);

  /// The gradients of the next backward pass travel. After a pass that threw, waits for what it had sent.
  void begin();
  /// For a hook: the gradient at this place is whole. Passes before `begin`. Error (exit code 1) when one
  /// comes twice.
  void ready(std::size_t place);
  /// Behind backward: waits for all buckets; times by bucket. Error (exit code 1) that names gradients which
  /// never came, or a bucket that the dispatcher left out.
  std::vector<CollectiveTimes> finish();

  /// What the last backward pass brought, in the order in which it reached the places.
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  std::int64_t backward_us() const { return backward_us_; }  ///< time of backward since `begin`
  DispatchFigures figures() const { return dispatcher_->figures(); }
  const std::vector<StoodStill>& stood_still() const { return stood_still_; }  ///< since `begin`, in turn
  std::size_t count() const { return works_.size(); }                          ///< messages of a step

 private:
  struct Message {
    std::size_t bucket = 0;
    at::Tensor values;
    Reduce reduce = Reduce::mean;
  };
  int ranks() const override { return comm_.size(); }
  void send(std::size_t bucket, const at::Tensor& message, Reduce reduce) override;
  void wait(std::size_t bucket) override;
  void check_arrivals() const;
  void settle() noexcept;

  Comm& comm_;
  at::Tensor flat_;
  Reduce reduce_;
  bool overlap_;
  MakeBucketDispatcher make_dispatcher_;
  bool begun_ = false;
  std::vector<GradientPlace> places_;
  std::vector<std::size_t> place_in_plan_;  ///< by place
  std::vector<bool> is_ready_;              ///< by place
  std::vector<Arrival> arrivals_;
  std::int64_t began_us_ = 0;
  std::int64_t backward_us_ = 0;
  std::unique_ptr<BucketDispatcher> dispatcher_;
  std::size_t buckets_ = 0;             ///< in the plan
  std::vector<Message> held_;           ///< without overlap, until backward is done
  std::vector<Work> works_;             ///< by bucket
  std::vector<CollectiveTimes> times_;  ///< by bucket
  std::vector<StoodStill> stood_still_;
};

}  // namespace isobar
