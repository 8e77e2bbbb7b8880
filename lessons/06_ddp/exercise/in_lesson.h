#pragma once
// Read before main.cpp by ./isobar run 06_ddp --mine: gradients leave in your buckets, when your hook sends
// them. What the hook is called by, the messages and the layout of the gradients are ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <sstream>

#include "06_ddp/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "train/gradient_hooks.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {

class YourBucketSync final : public GradientSync {
 public:
  YourBucketSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { came(leaf); }) {
    places_ = gradient_places(parameters);
    order_.resize(places_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Nobody knows yet in which order gradients come: one bucket.
    plan_with({{.first = 0, .count = order_.size(), .bytes = 0}});
  }
  std::int64_t planned_calls() const override { return static_cast<std::int64_t>(plan_.size()); }

 private:
  void prepare() override {
    if (cut_ || came_.size() != hooks_.count()) return;
    order_ = order_of_rank_0();
    parameters_.lay_out_again(order_);
    places_ = gradient_places(parameters_);
    std::vector<std::int64_t> sizes_bytes;
    for (const std::size_t leaf : order_)
      sizes_bytes.push_back(places_[leaf].count * static_cast<std::int64_t>(sizeof(float)));
    plan_with(
        part_.bucket_plan(sizes_bytes, mebibytes(config_.first_bucket_mb), mebibytes(config_.bucket_mb)));
    cut_ = true;
  }

  void arm() override {
    came_.clear();
    works_.clear();
    sender_->begin();
    in_backward_ = true;
  }

  std::vector<CollectiveTimes> exchange() override {
    in_backward_ = false;
    if (!config_.overlap)
      for (const std::size_t leaf : came_) sender_->ready(place_of_[leaf]);
    sender_->finish();
    if (works_.size() != plan_.size())
      throw Error(fmt::format("{} buckets were planned, and {} were sent", plan_.size(), works_.size()),
                  "your buckets", "./isobar check 06_ddp says more", Exit::failed);
    std::vector<CollectiveTimes> times;
    for (Work& work : works_) times.push_back(work.wait());
    return times;
  }

  void came(std::size_t leaf) {
    if (!in_backward_) return;
    came_.push_back(leaf);
    if (config_.overlap) sender_->ready(place_of_[leaf]);
  }

  /// Ranks may see different orders, and messages must leave in one.
  std::vector<std::size_t> order_of_rank_0() {
    const std::string own = fmt::format("{}", fmt::join(came_, " "));
    std::istringstream text(comm_.all_gather_text(own, "order of the gradients").front());
    std::vector<std::size_t> order;
    for (std::size_t leaf = 0; text >> leaf;) order.push_back(leaf);
    return order;
  }

  void plan_with(std::vector<PlannedBucket> plan) {
    plan_ = std::move(plan);
    place_of_.resize(order_.size());
    for (std::size_t place = 0; place < order_.size(); ++place) place_of_[order_[place]] = place;
    sender_ = part_.make_bucket_sender(plan_, [this](std::size_t bucket) { send(bucket); });
  }

  /// A bucket is a stretch of the flat gradients.
  void send(std::size_t bucket) {
    const PlannedBucket& of = plan_.at(bucket);
    std::int64_t begin = parameters_.gradients().numel(), end = 0;
    for (std::size_t i = of.first; i < of.first + of.count; ++i) {
      const GradientPlace& place = places_.at(order_.at(i));
      begin = std::min(begin, place.begin);
      end = std::max(end, place.begin + place.count);
    }
    works_.push_back(comm_.all_reduce(parameters_.gradients().narrow(0, begin, end - begin), reduce_,
                                      fmt::format("bucket {}", bucket)));
  }

  const exercise::Part& part_ = own_part_as<exercise::Part>();
  GradientHooks hooks_;
  std::vector<GradientPlace> places_;  ///< by leaf
  std::vector<std::size_t> order_;     ///< leaves as they are planned
  std::vector<std::size_t> place_of_;  ///< by leaf: its place in order_
  std::vector<std::size_t> came_;      ///< leaves of the last backward pass
  std::vector<PlannedBucket> plan_;
  std::unique_ptr<exercise::BucketSender> sender_;
  std::vector<Work> works_;
  bool in_backward_ = false;
  bool cut_ = false;
};

/// Other ways of comm.sync are ours.
inline std::unique_ptr<GradientSync> make_your_gradient_sync(Parameters& parameters, Comm& comm,
                                                             const CommConfig& config) {
  if (comm.size() == 1 || config.sync != SyncKind::buckets)
    return make_gradient_sync(parameters, comm, config);
  return std::make_unique<YourBucketSync>(parameters, comm, config);
}

}  // namespace isobar

#define make_gradient_sync make_your_gradient_sync
