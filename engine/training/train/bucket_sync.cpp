// Buckets that travel while backward goes on: the idea of lesson 06.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "formula/bucket_plan.h"
#include "train/gradient_buckets.h"
#include "train/gradient_hooks.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class BucketSync final : public GradientSync {
 public:
  BucketSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config),
        buckets_(comm, parameters.gradients(), reduce_, config.overlap, !config.bucket_view),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { buckets_.ready(leaf); }) {
    order_.resize(hooks_.count());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (config.bucket_order == BucketOrder::ready) {
      buckets_.plan(gradient_places(parameters), {order_});  // nobody knows yet in which order gradients come
      return;
    }
    if (config.bucket_order == BucketOrder::reverse) std::reverse(order_.begin(), order_.end());
    planned_ = members_of(order_).size();
  }
  std::int64_t planned_calls() const override {
    return static_cast<std::int64_t>(cut_ || planned_ == 0 ? buckets_.count() : planned_);
  }

 private:
  void prepare() override {
    if (cut_) return;
    if (planned_ == 0) {
      if (buckets_.order().size() != hooks_.count()) return;
      order_ = order_of_rank_0();
    }
    cut();
  }
  void arm() override { buckets_.begin(); }
  std::vector<CollectiveTimes> exchange() override { return buckets_.finish(); }

  /// Ranks may see different orders, and messages must leave in one.
  std::vector<std::size_t> order_of_rank_0() {
    const std::string mine = fmt::format("{}", fmt::join(buckets_.order(), " "));
    std::istringstream text(comm_.all_gather_text(mine, "order of the gradients").front());
    std::vector<std::size_t> order;
    for (std::size_t leaf = 0; text >> leaf;) order.push_back(leaf);
    return order;
  }

  /// Leaves by bucket.
  std::vector<std::vector<std::size_t>> members_of(const std::vector<std::size_t>& order) const {
    const std::vector<GradientPlace> places = gradient_places(parameters_);
    std::vector<std::int64_t> sizes_bytes;
    for (const std::size_t leaf : order)
      sizes_bytes.push_back(places[leaf].count * static_cast<std::int64_t>(sizeof(float)));
    std::vector<std::vector<std::size_t>> members;
    for (const PlannedBucket& bucket :
         bucket_plan(sizes_bytes, mebibytes(config_.first_bucket_mb), mebibytes(config_.bucket_mb))) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(bucket.first);
      members.emplace_back(first, first + static_cast<std::ptrdiff_t>(bucket.count));
    }
    return members;
  }

  /// The flat buffers in `order_`, so that a bucket is one stretch of them. Not in the constructor, which
  /// runs on the stream of the hooks.
  void cut() {
    parameters_.lay_out_again(order_);
    buckets_.plan(gradient_places(parameters_), members_of(order_));
    cut_ = true;
  }

  GradientBuckets buckets_;
  GradientHooks hooks_;
  std::vector<std::size_t> order_;  ///< leaves as they fill the buckets
  std::size_t planned_ = 0;         ///< buckets, where the order is known before the first step
  bool cut_ = false;
};

}  // namespace

std::unique_ptr<GradientSync> make_bucket_sync(Parameters& parameters, Comm& comm, const CommConfig& config) {
  return std::make_unique<BucketSync>(parameters, comm, config);
}

}  // namespace isobar
