#pragma once
// Gradients in buckets that travel while backward goes on. A bucket is a stretch of the flat gradients:
// nothing is copied into it or out of it, unless somebody wants to see what that costs.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.h"

namespace isobar {

/// One gradient's place in the flat gradients.
struct GradientPlace {
  std::string name;
  std::int64_t begin = 0;  ///< first element
  std::int64_t count = 0;
};

class GradientBuckets {
 public:
  /// `flat` holds all gradients; `reduce` is mean. Without `overlap` all buckets leave in `finish`. With
  /// `copies` each bucket has memory of its own, into which gradients are copied as they become ready, and
  /// from which `finish` copies them back (PyTorch's gradient_as_bucket_view=False). `comm` outlives this.
  GradientBuckets(Comm& comm, at::Tensor flat, Reduce reduce, bool overlap, bool copies = false);
  /// Waits for what is under way; what goes wrong then is not told.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// From now on bucket 0 holds the places `members[0]`, and so on: the same on all ranks. The members of one
  /// lie side by side, and each place belongs to one bucket. Not between `begin` and `finish`.
  void plan(std::vector<GradientPlace> places, const std::vector<std::vector<std::size_t>>& members);

  /// The gradients of the next backward pass travel. After a pass that threw, waits for what it had sent.
  void begin();
  /// For a hook: the gradient at this place is whole. Sends every bucket that is full, in their order, which
  /// is the same on all ranks; passes before `begin`. Error (exit code 1) when one comes twice.
  void ready(std::size_t place);
  /// Sends what has not left yet and waits for all of it: times by bucket. Error (exit code 1) that names
  /// gradients which never came.
  std::vector<CollectiveTimes> finish();

  /// The places in the order in which the last backward pass reached them.
  const std::vector<std::size_t>& order() const { return order_; }
  std::size_t count() const { return buckets_.size(); }
  std::int64_t bytes(std::size_t bucket) const;

 private:
  struct Bucket {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t members = 0;
    std::size_t missing = 0;
    Work work = {};
    at::Tensor message = {};  ///< what travels: of `flat`, or memory of its own
  };
  /// Of the flat gradients.
  at::Tensor stretch(const Bucket& bucket) const {
    return flat_.narrow(0, bucket.begin, bucket.end - bucket.begin);
  }
  void send_full();
  void settle() noexcept;

  Comm& comm_;
  at::Tensor flat_;
  Reduce reduce_;
  bool overlap_;
  bool copies_;
  bool begun_ = false;
  std::vector<GradientPlace> places_;
  std::vector<std::size_t> bucket_of_;  ///< by place
  std::vector<bool> is_ready_;          ///< by place
  std::vector<std::size_t> order_;
  std::vector<Bucket> buckets_;
  std::size_t sent_ = 0;  ///< buckets
};

}  // namespace isobar
