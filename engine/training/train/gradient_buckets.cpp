#include "train/gradient_buckets.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "core/error.h"

namespace isobar {
namespace {

constexpr std::size_t kNamed = 3;  // gradients that an error names; the rest it counts

std::string some(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

}  // namespace

GradientBuckets::GradientBuckets(Comm& comm, at::Tensor flat, Reduce reduce, bool overlap, bool copies)
    : comm_(comm), flat_(std::move(flat)), reduce_(reduce), overlap_(overlap), copies_(copies) {}

GradientBuckets::~GradientBuckets() { settle(); }

void GradientBuckets::settle() noexcept {
  for (Bucket& bucket : buckets_) {
    try {
      if (bucket.work.is_open()) bucket.work.wait();
    } catch (const std::exception&) {  // whoever made the first error has told it
      continue;
    }
  }
}

void GradientBuckets::plan(std::vector<GradientPlace> places,
                           const std::vector<std::vector<std::size_t>>& members) {
  std::vector<std::size_t> bucket_of(places.size(), members.size());
  std::vector<Bucket> buckets;
  std::size_t planned = 0;
  for (std::size_t b = 0; b < members.size(); ++b) {
    Bucket bucket{.begin = std::numeric_limits<std::int64_t>::max(), .members = members[b].size()};
    for (const std::size_t place : members[b]) {
      const auto& [name, begin, count] = places.at(place);
      bucket.begin = std::min(bucket.begin, begin);
      bucket.end = std::max(bucket.end, begin + count);
      if (std::exchange(bucket_of[place], b) == members.size()) ++planned;
    }
    buckets.push_back(std::move(bucket));
  }
  std::size_t named = 0;
  for (const Bucket& bucket : buckets) named += bucket.members;
  if (planned != places.size() || named != planned) {
    throw Error(fmt::format("{} gradients are not cut into buckets so that each is in one", places.size()),
                "", "", Exit::failed);
  }
  settle();
  buckets_.clear();  // before new messages take memory
  for (Bucket& bucket : buckets) bucket.message = copies_ ? at::zeros_like(stretch(bucket)) : stretch(bucket);
  places_ = std::move(places);
  bucket_of_ = std::move(bucket_of);
  buckets_ = std::move(buckets);
  begun_ = false;
}

std::int64_t GradientBuckets::bytes(std::size_t bucket) const {
  const Bucket& of = buckets_.at(bucket);
  return (of.end - of.begin) * static_cast<std::int64_t>(flat_.element_size());
}

void GradientBuckets::begin() {
  for (Bucket& bucket : buckets_) {
    if (bucket.work.is_open()) bucket.work.wait();
    bucket.missing = bucket.members;
  }
  is_ready_.assign(places_.size(), false);
  order_.clear();
  sent_ = 0;
  begun_ = true;
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
  order_.push_back(place);
  Bucket& bucket = buckets_[bucket_of_[place]];
  if (copies_) {
    const at::NoGradGuard no_grad;
    const GradientPlace& of = places_[place];
    bucket.message.narrow(0, of.begin - bucket.begin, of.count)
        .copy_(flat_.narrow(0, of.begin, of.count), /*non_blocking=*/true);
  }
  --bucket.missing;
  if (overlap_) send_full();
}

void GradientBuckets::send_full() {
  for (; sent_ < buckets_.size() && buckets_[sent_].missing == 0; ++sent_) {
    Bucket& bucket = buckets_[sent_];
    bucket.work = comm_.all_reduce(bucket.message, reduce_, fmt::format("bucket {}", sent_));
  }
}

std::vector<CollectiveTimes> GradientBuckets::finish() {
  begun_ = false;
  if (order_.size() != places_.size()) {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!is_ready_.at(i)) missing.push_back(places_[i].name);
    }
    throw Error(
        fmt::format("{} of {} gradients were not computed in this step", missing.size(), places_.size()),
        some(missing), "every parameter must take part in the loss, or the ranks would wait for ever",
        Exit::failed);
  }
  send_full();
  std::vector<CollectiveTimes> times;
  for (Bucket& bucket : buckets_) times.push_back(bucket.work.wait());
  if (!copies_) return times;
  const at::NoGradGuard no_grad;
  for (const Bucket& bucket : buckets_) stretch(bucket).copy_(bucket.message, /*non_blocking=*/true);
  return times;
}

}  // namespace isobar
