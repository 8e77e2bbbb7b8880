// Buckets that travel while backward goes on: the idea of lesson 06.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
  BucketSync(Parameters& parameters, Comm& comm, const CommConfig& config, std::vector<at::Tensor> buffers)
      : GradientSync(parameters, comm, config, std::move(buffers)),
        buckets_(comm, parameters.gradients(), reduce_, config.overlap),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { buckets_.ready(leaf); }) {
    std::vector<GradientPlace> places = gradient_places(parameters);
    std::vector<std::size_t> all(places.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    buckets_.plan(std::move(places), {all});  // nobody knows yet in which order gradients come
  }
  std::int64_t planned_calls() const override { return static_cast<std::int64_t>(buckets_.count()); }

 private:
  void prepare() override {
    if (cut_ || buckets_.order().size() != hooks_.count()) return;
    cut(order_of_rank_0());
    cut_ = true;
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

  /// The flat buffers in this order, so that a bucket is one stretch of them.
  void cut(const std::vector<std::size_t>& order) {
    parameters_.lay_out_again(order);
    std::vector<GradientPlace> places = gradient_places(parameters_);
    std::vector<std::int64_t> sizes_bytes;
    for (const std::size_t leaf : order)
      sizes_bytes.push_back(places[leaf].count * static_cast<std::int64_t>(sizeof(float)));
    std::vector<std::vector<std::size_t>> members;
    for (const PlannedBucket& bucket :
         bucket_plan(sizes_bytes, mebibytes(config_.first_bucket_mb), mebibytes(config_.bucket_mb))) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(bucket.first);
      members.emplace_back(first, first + static_cast<std::ptrdiff_t>(bucket.count));
    }
    buckets_.plan(std::move(places), members);
  }

  GradientBuckets buckets_;
  GradientHooks hooks_;
  bool cut_ = false;
};

}  // namespace

std::unique_ptr<GradientSync> make_bucket_sync(Parameters& parameters, Comm& comm, const CommConfig& config,
                                               std::vector<at::Tensor> buffers) {
  return std::make_unique<BucketSync>(parameters, comm, config, std::move(buffers));
}

}  // namespace isobar
