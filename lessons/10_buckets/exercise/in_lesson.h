#pragma once
// Read before main.cpp by ./isobar run 10_buckets --mine: gradients travel in the messages of your hook. With
// an emulated link (comm.link) your planner cuts them, by the times that the second step took on rank 0; else
// comm.bucket_mb does. What the hook is called by, and what carries messages, are ours.
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <numeric>
#include <sstream>

#include "10_buckets/exercise/part.h"
#include "check/own_part.h"
#include "core/clock.h"
#include "core/error.h"
#include "train/gradient_hooks.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {

class YourPackedSync final : public GradientSync, private exercise::Messenger {
 public:
  YourPackedSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { came(leaf); }),
        places_(gradient_places(parameters)) {
    if (!parameters.gradients().is_cpu())
      throw Error("your messages lie in the memory of the host", "run.device", "--set run.device=cpu");
    std::vector<std::size_t> order(places_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (config.bucket_order == BucketOrder::reverse) std::reverse(order.begin(), order.end());
    // Nobody knows yet when gradients come: one bucket.
    plan_with(order, {{.first = 0, .count = order.size(), .bytes = 0}});
  }
  ~YourPackedSync() override { settle(); }
  YourPackedSync(const YourPackedSync&) = delete;
  YourPackedSync& operator=(const YourPackedSync&) = delete;
  std::int64_t planned_calls() const override { return static_cast<std::int64_t>(plan_.size()); }

 private:
  struct Came {
    std::size_t leaf = 0;
    std::int64_t at_us = 0;  ///< since backward began
  };

  void prepare() override {
    if (is_cut_ || steps_ < 2 || came_.size() != hooks_.count()) return;  // the first step is a slow one
    cut();
    is_cut_ = true;
  }

  void arm() override {
    settle();
    came_.clear();
    works_.clear();
    works_.resize(plan_.size());
    times_.assign(plan_.size(), {});
    packed_->begin();
    began_us_ = steady_us();
    in_backward_ = true;
  }

  std::vector<CollectiveTimes> exchange() override {
    backward_us_ = steady_us() - began_us_;
    in_backward_ = false;
    ++steps_;
    if (came_.size() != hooks_.count())
      throw Error(fmt::format("{} of {} gradients came once each", came_.size(), hooks_.count()), "backward",
                  "every parameter must take part in the loss", Exit::failed);
    if (!config_.overlap)
      for (const Came& one : came_) packed_->ready(place_of_[one.leaf]);
    packed_->finish();
    for (std::size_t bucket = 0; bucket < plan_.size(); ++bucket)
      if (times_[bucket].ready_us == 0 || works_[bucket].is_open())
        throw Error(fmt::format("bucket {} was not both sent and waited for", bucket), "your buckets",
                    "./isobar check 10_buckets says more", Exit::failed);
    return times_;
  }

  void came(std::size_t leaf) {
    if (!in_backward_) return;
    came_.push_back({leaf, steady_us() - began_us_});
    if (config_.overlap) packed_->ready(place_of_[leaf]);
  }

  int ranks() const override { return comm_.size(); }
  void send(std::size_t bucket, std::span<float> message) override {
    const at::Tensor values =
        at::from_blob(message.data(), {static_cast<std::int64_t>(message.size())}, at::kFloat);
    works_.at(bucket) = comm_.all_reduce(values, Reduce::sum, fmt::format("bucket {}", bucket));
  }
  void wait(std::size_t bucket) override { times_.at(bucket) = works_.at(bucket).wait(); }

  void cut() {
    const exercise::TimedStep step = step_of_rank_0();
    std::vector<std::int64_t> sizes_bytes;
    for (const exercise::TimedGradient& gradient : step.gradients) sizes_bytes.push_back(gradient.bytes);
    const bool on_link = config_.link.latency_us > 0 || config_.link.gbit_per_s > 0;
    std::vector<PlannedBucket> plan =
        on_link ? part_.quickest_plan(step)
                : bucket_plan(sizes_bytes, mebibytes(config_.first_bucket_mb), mebibytes(config_.bucket_mb));
    std::size_t next = 0;
    for (const PlannedBucket& bucket : plan) next = bucket.first == next ? next + bucket.count : SIZE_MAX / 2;
    if (next != order_.size())
      throw Error("your plan does not hold each gradient once, in order", "quickest_plan",
                  "./isobar check 10_buckets says more", Exit::failed);
    plan_with(order_, std::move(plan));
  }

  /// Ranks may see different orders and times, and must have one plan. Fills order_.
  exercise::TimedStep step_of_rank_0() {
    std::string own = fmt::format("{}", backward_us_);
    for (const Came& one : came_) own += fmt::format(" {} {}", one.leaf, one.at_us);
    std::istringstream text(comm_.all_gather_text(own, "times of the gradients").front());
    exercise::TimedStep step{.link = link_of(config_.link.latency_us, config_.link.gbit_per_s),
                             .ranks = comm_.size()};
    text >> step.backward_us;
    std::vector<double> at_us(places_.size());
    std::vector<std::size_t> arrived;
    double one_us = 0;
    for (std::size_t leaf = 0; text >> leaf >> one_us;) {
      at_us.at(leaf) = one_us;
      arrived.push_back(leaf);
    }
    if (config_.bucket_order == BucketOrder::ready) order_ = arrived;
    double ready_us = 0;  // of all up to this one: a bucket waits for its last, whatever the order
    for (const std::size_t leaf : order_) {
      ready_us = std::max(ready_us, at_us[leaf]);
      const std::int64_t values = places_[leaf].count;
      step.gradients.push_back({values * static_cast<std::int64_t>(sizeof(float)), ready_us});
    }
    return step;
  }

  /// Gradients stay where they are: messages are copies.
  void plan_with(std::vector<std::size_t> order, std::vector<PlannedBucket> plan) {
    order_ = std::move(order);
    plan_ = std::move(plan);
    place_of_.resize(order_.size());
    std::vector<std::span<float>> gradients;
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const GradientPlace& of = places_.at(order_[place]);
      place_of_[order_[place]] = place;
      gradients.emplace_back(parameters_.gradients().data_ptr<float>() + of.begin,
                             static_cast<std::size_t>(of.count));
    }
    packed_ = part_.make_packed_buckets(plan_, std::move(gradients), *this);
  }

  /// Messages are in use until their all-reduce is done. What goes wrong then is not told.
  void settle() noexcept {
    for (Work& work : works_) {
      try {
        if (work.is_open()) work.wait();
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  const exercise::Part& part_ = own_part_as<exercise::Part>();
  GradientHooks hooks_;
  std::vector<GradientPlace> places_;  ///< by leaf
  std::vector<std::size_t> order_;     ///< leaves as they are planned
  std::vector<std::size_t> place_of_;  ///< by leaf: its place in order_
  std::vector<Came> came_;             ///< of the last backward pass
  std::vector<PlannedBucket> plan_;
  std::unique_ptr<exercise::PackedBuckets> packed_;
  std::vector<Work> works_;             ///< by bucket
  std::vector<CollectiveTimes> times_;  ///< by bucket
  std::int64_t began_us_ = 0;
  std::int64_t backward_us_ = 0;
  int steps_ = 0;
  bool in_backward_ = false;
  bool is_cut_ = false;
};

/// Other ways of comm.sync, and sums that are not divided, are ours.
inline std::unique_ptr<GradientSync> make_your_gradient_sync(Parameters& parameters, Comm& comm,
                                                             const CommConfig& config) {
  if (comm.size() == 1 || config.sync != SyncKind::buckets || !config.divides)
    return make_gradient_sync(parameters, comm, config);
  return std::make_unique<YourPackedSync>(parameters, comm, config);
}

}  // namespace isobar

#define make_gradient_sync make_your_gradient_sync
