#include "train/gradient_buckets.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "device/memory_ledger.h"

namespace isobar {
namespace {

constexpr const char* kEachOnce = "each bucket is sent once a step, and waited for";
constexpr std::size_t kNamed = 3;  // gradients that an error names; the rest it counts

std::string some(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

class OwnBucketDispatcher final : public BucketDispatcher {
 public:
  OwnBucketDispatcher(BucketsToSend buckets, BucketMessenger& messenger, bool copies)
      : buckets_(std::move(buckets)), messenger_(messenger), copies_(copies) {
    const MemoryScope scope(MemoryCategory::communication);
    for (std::size_t bucket = 0; bucket < buckets_.plan.size(); ++bucket) {
      const auto& [first, count, bytes] = buckets_.plan[bucket];
      const at::Tensor& stretch = buckets_.stretches[bucket];
      messages_.push_back(copies_ ? at::zeros_like(stretch) : stretch);
      bucket_of_.insert(bucket_of_.end(), count, bucket);
      for (std::size_t i = first; copies_ && i < first + count; ++i) {
        const at::Tensor& gradient = buckets_.gradients[i];
        copies_to_.push_back(messages_.back().narrow(0, gradient.storage_offset() - stretch.storage_offset(),
                                                     gradient.numel()));
      }
    }
  }

  void begin() override {
    missing_.clear();
    for (const PlannedBucket& bucket : buckets_.plan) missing_.push_back(bucket.count);
    sent_ = 0;
  }

  void ready(std::size_t gradient) override {
    if (copies_) {
      const at::NoGradGuard no_grad;
      copies_to_[gradient].copy_(buckets_.gradients[gradient], /*non_blocking=*/true);
    }
    --missing_[bucket_of_[gradient]];
    for (; sent_ < messages_.size() && missing_[sent_] == 0; ++sent_)
      messenger_.send(sent_, messages_[sent_], buckets_.reduce);
  }

  void finish() override {
    for (std::size_t bucket = 0; bucket < messages_.size(); ++bucket) messenger_.wait(bucket);
    if (!copies_) return;
    const at::NoGradGuard no_grad;
    for (std::size_t bucket = 0; bucket < messages_.size(); ++bucket)
      buckets_.stretches[bucket].copy_(messages_[bucket], /*non_blocking=*/true);
  }

 private:
  BucketsToSend buckets_;
  BucketMessenger& messenger_;
  bool copies_;
  std::vector<at::Tensor> messages_;    ///< by bucket: what travels, a view of gradients or memory of its own
  std::vector<at::Tensor> copies_to_;   ///< by gradient
  std::vector<std::size_t> bucket_of_;  ///< by gradient
  std::vector<std::size_t> missing_;    ///< by bucket
  std::size_t sent_ = 0;                ///< buckets
};

}  // namespace

MakeBucketDispatcher own_bucket_dispatcher(bool copies) {
  return [copies](BucketsToSend buckets, BucketMessenger& messenger) {
    return std::make_unique<OwnBucketDispatcher>(std::move(buckets), messenger, copies);
  };
}

GradientBuckets::GradientBuckets(Comm& comm, at::Tensor flat, Reduce reduce, bool overlap,
                                 MakeBucketDispatcher make_dispatcher)
    : comm_(comm),
      flat_(std::move(flat)),
      reduce_(reduce),
      overlap_(overlap),
      make_dispatcher_(std::move(make_dispatcher)) {}

GradientBuckets::~GradientBuckets() { settle(); }

void GradientBuckets::settle() noexcept {
  for (Work& work : works_) {
    try {
      if (work.is_open()) work.wait();
    } catch (const std::exception&) {  // the first error has been reported
      continue;
    }
  }
}

void GradientBuckets::plan(std::vector<GradientPlace> places, const std::vector<std::size_t>& order,
                           std::vector<PlannedBucket> plan) {
  std::vector<std::size_t> place_in_plan(places.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place_in_plan.at(order[i]) = i;
  std::size_t planned = 0;
  bool in_turn = order.size() == places.size() && std::ranges::count(place_in_plan, order.size()) == 0;
  for (const PlannedBucket& bucket : plan) {
    in_turn =
        in_turn && bucket.first == planned && bucket.count > 0 && bucket.count <= order.size() - planned;
    planned += bucket.count;
  }
  if (!in_turn || planned != order.size()) {
    throw Error(fmt::format("{} gradients are not cut into buckets so that each is in one", places.size()),
                plan_text(plan), "", Exit::failed);
  }
  BucketsToSend buckets{
      .plan = std::move(plan), .leaves = order, .gradients = {}, .stretches = {}, .reduce = reduce_};
  for (const std::size_t place : order)
    buckets.gradients.push_back(flat_.narrow(0, places[place].begin, places[place].count));
  for (const PlannedBucket& bucket : buckets.plan) {
    std::int64_t begin = flat_.numel(), end = 0;
    for (std::size_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
      const GradientPlace& of = places[order[i]];
      begin = std::min(begin, of.begin);
      end = std::max(end, of.begin + of.count);
    }
    buckets.stretches.push_back(flat_.narrow(0, begin, end - begin));
  }
  settle();
  dispatcher_.reset();  // before new messages take memory
  works_.clear();
  works_.resize(buckets.plan.size());
  buckets_ = buckets.plan.size();
  places_ = std::move(places);
  place_in_plan_ = std::move(place_in_plan);
  begun_ = false;
  dispatcher_ = make_dispatcher_(std::move(buckets), *this);
}

void GradientBuckets::begin() {
  for (Work& work : works_)
    if (work.is_open()) work.wait();
  held_.clear();
  is_ready_.assign(places_.size(), false);
  arrivals_.clear();
  stood_still_.clear();
  dispatcher_->begin();
  works_.resize(dispatcher_->messages(buckets_));
  times_.assign(works_.size(), {});
  begun_ = true;
  began_us_ = steady_us();
}

void GradientBuckets::ready(std::size_t place) {
  if (!begun_) return;
  if (is_ready_.at(place)) {
    throw Error("a gradient came twice in one backward pass, the second time when it may have left already",
                places_[place].name,
                "one backward pass a step, or last_micro_batch = false in front of all but the last",
                Exit::failed);
  }
  is_ready_[place] = true;
  arrivals_.push_back({place, steady_us() - began_us_});
  dispatcher_->ready(place_in_plan_[place]);
}

void GradientBuckets::send(std::size_t bucket, const at::Tensor& message, Reduce reduce) {
  if (begun_ && !overlap_) {
    held_.push_back({bucket, message, reduce});
    return;
  }
  if (bucket >= works_.size())
    throw Error(fmt::format("a step sends more than its {} messages", works_.size()),
                fmt::format("message {}", bucket), kEachOnce, Exit::failed);
  works_[bucket] = comm_.all_reduce(message, reduce, fmt::format("bucket {}", bucket));
}

void GradientBuckets::wait(std::size_t bucket) {
  if (!works_.at(bucket).is_open())
    throw Error(fmt::format("bucket {} is waited for and was not sent", bucket),
                fmt::format("{} buckets", works_.size()), kEachOnce, Exit::failed);
  const std::int64_t begin_us = steady_us();
  times_[bucket] = works_[bucket].wait();
  stood_still_.push_back({begin_us, steady_us()});
}

void GradientBuckets::check_arrivals() const {
  if (arrivals_.size() == places_.size()) return;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!is_ready_.at(i)) missing.push_back(places_[i].name);
  }
  throw Error(
      fmt::format("{} of {} gradients were not computed in this step", missing.size(), places_.size()),
      some(missing), "every parameter must take part in the loss, or the ranks would wait for ever",
      Exit::failed);
}

std::vector<CollectiveTimes> GradientBuckets::finish() {
  backward_us_ = steady_us() - began_us_;
  begun_ = false;
  check_arrivals();
  for (const Message& message : std::exchange(held_, {}))
    send(message.bucket, message.values, message.reduce);
  dispatcher_->finish();
  for (std::size_t bucket = 0; bucket < works_.size(); ++bucket) {
    if (times_[bucket].ready_us > 0 && !works_[bucket].is_open()) continue;
    throw Error(fmt::format("bucket {} was not sent and waited for", bucket),
                fmt::format("{} buckets", works_.size()), kEachOnce, Exit::failed);
  }
  return times_;
}

}  // namespace isobar
