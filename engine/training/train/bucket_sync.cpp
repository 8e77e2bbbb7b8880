// Buckets that travel while backward goes on: the idea of lesson 06.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "train/bucket_parts.h"
#include "train/gradient_hooks.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class BucketSync final : public GradientSync {
 public:
  BucketSync(Parameters& parameters, Comm& comm, const CommConfig& config, BucketParts parts)
      : GradientSync(parameters, comm, config),
        planner_(std::move(parts.planner)),
        buckets_(comm, parameters.gradients(), reduce_, config.overlap, std::move(parts.make_dispatcher)),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { buckets_.ready(leaf); }) {
    std::vector<std::size_t> all(hooks_.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    // Nobody knows yet in which order gradients come: one bucket.
    buckets_.plan(gradient_places(parameters), all, {{.first = 0, .count = all.size(), .bytes = 0}});
  }

  std::int64_t planned_calls() const override {
    const bool waits_for_order = is_planned_ || config_.bucket_order == BucketOrder::ready || planner_;
    return static_cast<std::int64_t>(
        waits_for_order ? buckets_.count()
                        : plan_by_caps(sizes_bytes_of(declared(config_.bucket_order))).size());
  }

  bool plan_is_due() const override { return !planner_ && order_is_known(); }

  GradientOrder order(BucketOrder which) override {
    GradientOrder out;
    std::vector<double> at_us(hooks_.count());
    if (!buckets_.arrivals().empty()) out.leaves = take_times_of_rank_0(at_us, out.backward_us);
    const bool has_times = !out.leaves.empty();
    if (which != BucketOrder::ready) out.leaves = declared(which);
    for (const std::size_t leaf : out.leaves)
      if (has_times) out.ready_us.push_back(at_us[leaf]);
    out.sizes_bytes = sizes_bytes_of(out.leaves);
    return out;
  }

  /// The flat buffers in the order of the buckets, so that each is one stretch of them. Not in the
  /// constructor, which runs on the stream of the hooks.
  void plan(const GradientOrder& order, std::vector<PlannedBucket> buckets) override {
    parameters_.lay_out_again(order.leaves);
    buckets_.plan(gradient_places(parameters_), order.leaves, std::move(buckets));
    is_planned_ = true;
  }

 private:
  void prepare() override {
    if (!order_is_known()) return;
    const GradientOrder known = order(config_.bucket_order);
    std::optional<std::vector<PlannedBucket>> buckets =
        planner_ ? planner_(known) : plan_by_caps(known.sizes_bytes);
    if (buckets) plan(known, std::move(*buckets));
  }
  void arm() override { buckets_.begin(); }
  std::vector<CollectiveTimes> exchange() override {
    std::vector<CollectiveTimes> times = buckets_.finish();
    figures_ = buckets_.figures();
    stood_still_ = buckets_.stood_still();
    return times;
  }

  bool order_is_known() const {
    return !is_planned_ &&
           (config_.bucket_order != BucketOrder::ready || buckets_.arrivals().size() == hooks_.count());
  }

  std::vector<PlannedBucket> plan_by_caps(const std::vector<std::int64_t>& sizes_bytes) const {
    return bucket_plan(sizes_bytes, mebibytes(config_.first_bucket_mb), mebibytes(config_.bucket_mb));
  }

  std::vector<std::size_t> declared(BucketOrder which) const {
    std::vector<std::size_t> leaves(hooks_.count());
    std::iota(leaves.begin(), leaves.end(), std::size_t{0});
    if (which == BucketOrder::reverse) std::reverse(leaves.begin(), leaves.end());
    return leaves;
  }

  std::vector<std::int64_t> sizes_bytes_of(const std::vector<std::size_t>& leaves) const {
    const std::vector<GradientPlace> places = gradient_places(parameters_);
    std::vector<std::int64_t> out;
    for (const std::size_t leaf : leaves)
      out.push_back(places[leaf].count * static_cast<std::int64_t>(sizeof(float)));
    return out;
  }

  /// Ranks may see different orders and times, and must have one plan. Leaves as they came there.
  std::vector<std::size_t> take_times_of_rank_0(std::vector<double>& at_us, double& backward_us) {
    std::string own = fmt::format("{}", buckets_.backward_us());
    for (const auto& [leaf, us] : buckets_.arrivals()) own += fmt::format(" {} {}", leaf, us);
    std::istringstream text(comm_.all_gather_text(own, "order of the gradients").front());
    text >> backward_us;
    std::vector<std::size_t> order;
    double us = 0;
    for (std::size_t leaf = 0; text >> leaf >> us; order.push_back(leaf)) at_us.at(leaf) = us;
    return order;
  }

  BucketPlanner planner_;
  GradientBuckets buckets_;
  GradientHooks hooks_;
  bool is_planned_ = false;  ///< in buckets that comm.bucket_mb or somebody else chose
};

}  // namespace

std::unique_ptr<GradientSync> make_bucket_sync(Parameters& parameters, Comm& comm, const CommConfig& config) {
  return make_sync_of_parts(parameters, comm, config, seams::bucket_parts(config, comm.size()));
}

std::unique_ptr<GradientSync> make_sync_of_parts(Parameters& parameters, Comm& comm, const CommConfig& config,
                                                 BucketParts parts) {
  return std::make_unique<BucketSync>(parameters, comm, config, std::move(parts));
}

}  // namespace isobar
