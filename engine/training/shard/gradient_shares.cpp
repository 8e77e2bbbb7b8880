#include "shard/gradient_shares.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "config/fault.h"
#include "core/error.h"
#include "device/memory_ledger.h"
#include "train/gradient_places.h"

namespace isobar {

GradientShares::GradientShares(Parameters& parameters, Comm& comm, Comm* copies, const Config& config,
                               WaitLog& log)
    : parameters_(parameters),
      comm_(comm),
      copies_(copies),
      log_(log),
      overlap_(config.comm.overlap),
      reduce_(has_fault(Fault::sum_gradients) ? Reduce::sum : Reduce::mean),
      bucket_of_(parameters.leaves().size()),
      is_ready_(bucket_of_.size()),
      is_zero_(parameters.buckets().size(), true),
      held_(parameters.buckets().size()) {
  for (std::size_t bucket = 0; bucket < held_.size(); ++bucket) {
    for (const std::size_t leaf : parameters.buckets()[bucket].leaves) bucket_of_[leaf] = bucket;
  }
  hooks_.emplace(leaf_tensors(parameters), [this](std::size_t leaf) { ready(leaf); });
}

GradientShares::~GradientShares() {
  for (Held& held : held_) {
    try {
      held.work.wait();
      held.between.wait();
    } catch (const std::exception&) {  // the first error has been reported
      continue;
    }
  }
}

void GradientShares::begin(bool last) {
  for (std::size_t bucket = 0; bucket < held_.size(); ++bucket) {
    log_.land(held_[bucket].number);  // a pass that threw left some
    held_[bucket].missing = parameters_.buckets()[bucket].leaves.size();
    held_[bucket].came = false;
  }
  is_ready_.assign(is_ready_.size(), false);
  sent_ = 0;
  last_ = last;
  armed_ = last || !parameters_.shared_layout().whole_gradients;
}

void GradientShares::reach(std::size_t bucket) {
  ParameterBucket& place = parameters_.buckets()[bucket];
  if (parameters_.shared_layout().whole_gradients || place.gradients.has_memory()) return;
  for (std::size_t before = 0; overlap_ && before + 1 < bucket; ++before) log_.land(held_[before].number);
  const at::NoGradGuard no_grad;
  place.gradients.take();
  at::Tensor(place.gradients.tensor()).zero_();
}

void GradientShares::ready(std::size_t leaf) {
  if (!armed_) return;
  if (is_ready_[leaf])
    throw Error("a gradient came twice in one backward pass, the second time when it may have left already",
                parameters_.leaves()[leaf].name, "one backward pass a micro-batch", Exit::failed);
  is_ready_[leaf] = true;
  Held& held = held_[bucket_of_[leaf]];
  if (--held.missing > 0) return;
  held.came = true;
  for (; sent_ < held_.size() && held_[sent_].came; ++sent_) {
    if (overlap_) send(sent_);
    if (left_) left_(sent_);
  }
}

void GradientShares::send_all() {
  begin(/*last=*/true);
  for (std::size_t leaf = 0; leaf < is_ready_.size(); ++leaf) ready(leaf);
}

void GradientShares::send(std::size_t bucket) {
  const ParameterBucket& place = parameters_.buckets()[bucket];
  Held& held = held_[bucket];
  const at::NoGradGuard no_grad;
  const bool adds = !parameters_.shared_layout().whole_gradients && !is_zero_[bucket];
  const MemoryScope scope(MemoryCategory::communication);
  held.landing = adds ? at::empty_like(place.own_gradients) : place.own_gradients;
  held.work =
      comm_.reduce_scatter(held.landing, place.shared(parameters_.whole_gradients(place), comm_.size()),
                           reduce_, fmt::format("bucket {}", bucket));
  held.number = log_.started([this, bucket] { land(bucket); });
  is_zero_[bucket] = false;
}

void GradientShares::land(std::size_t bucket) {
  Held& held = held_[bucket];
  log_.wait(held.work);
  ParameterBucket& place = parameters_.buckets()[bucket];
  place.gradients.release();
  const at::NoGradGuard no_grad;
  if (!held.landing.is_same(place.own_gradients)) place.own_gradients.add_(held.landing);
  held.landing.reset();
  if (copies_ != nullptr && last_)
    held.between = copies_->all_reduce(place.own_gradients, reduce_, fmt::format("between {}", bucket));
}

void GradientShares::finish() {
  if (!std::exchange(armed_, false)) return;
  check_arrivals();
  for (std::size_t bucket = 0; !overlap_ && bucket < held_.size(); ++bucket) send(bucket);
  for (std::size_t bucket = 0; bucket < held_.size(); ++bucket) log_.land(held_[bucket].number);
  for (Held& held : held_)
    if (held.between.is_open()) log_.wait(held.between);
}

void GradientShares::check_arrivals() const {
  std::size_t missing = 0, first = 0;
  for (std::size_t leaf = is_ready_.size(); leaf-- > 0;) {
    if (is_ready_[leaf]) continue;
    ++missing;
    first = leaf;
  }
  if (missing == 0) return;
  throw Error(fmt::format("{} of {} gradients were not computed in this step", missing, is_ready_.size()),
              parameters_.leaves()[first].name,
              "every parameter must take part in the loss, or the ranks would wait for ever", Exit::failed);
}

}  // namespace isobar
