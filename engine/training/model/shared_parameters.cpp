// Parameters that ranks share out.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "device/memory.h"
#include "model/owner_map.h"
#include "model/parameters.h"

namespace isobar {
namespace {

/// What shares are multiples of where nothing is padded, a mistake on purpose: coarse, so that something is
/// left over.
constexpr std::int64_t kUnpaddedGrain = 256;

/// Elements that each of `parts` ranks owns of `content`.
std::int64_t part_of(std::int64_t content, const SharedLayout& layout) {
  const std::int64_t unpadded = content / (layout.parts * kUnpaddedGrain) * kUnpaddedGrain;
  if (!layout.pads && unpadded > 0) return unpadded;
  return seams::owned_length(content, layout.parts);
}

}  // namespace

std::int64_t owned_length(std::int64_t content, std::int64_t parts) {
  const std::int64_t unit = parts * kAlignedFloats;
  return (content + unit - 1) / unit * kAlignedFloats;
}

OwnStretch owned_stretch(const BucketStretch& parameter, std::int64_t length, std::int64_t /*parts*/,
                         std::int64_t part) {
  const std::int64_t own_begin = part * length;
  const std::int64_t first = std::max(parameter.begin, own_begin);
  const std::int64_t last = std::min(parameter.begin + parameter.count, own_begin + length);
  if (last <= first) return {};
  return {.in_parameter = first - parameter.begin, .in_own = first - own_begin, .count = last - first};
}

void Parameters::share_out(SharedLayout layout) {
  if (!own_.empty() || has_buckets())
    throw Error("parameters are shared out once, before they get their places", "", "", Exit::failed);
  std::vector<std::size_t> named;
  for (const std::vector<std::size_t>& bucket : layout.buckets)
    named.insert(named.end(), bucket.begin(), bucket.end());
  std::sort(named.begin(), named.end());
  const std::size_t leaves = leaf_members().size();
  const bool once = std::adjacent_find(named.begin(), named.end()) == named.end();
  if (!once || named.size() != leaves || named.back() >= leaves || layout.part < 0 ||
      layout.part >= layout.parts)
    throw Error("parameters are not shared out so that each leaf is in one bucket", "", "", Exit::failed);
  layout_ = std::move(layout);
}

void Parameters::make_buckets(c10::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device);
  std::int64_t end = 0, own = 0;
  buckets_.clear();
  for (const std::vector<std::size_t>& leaves : layout_.buckets) {
    ParameterBucket bucket;
    bucket.leaves = leaves;
    bucket.begin = end;
    const std::int64_t content = lay_out(leaves, end) - end;
    bucket.part = part_of(content, layout_);
    bucket.count = std::max(content, bucket.part * layout_.parts);
    bucket.own_begin = own;
    end += bucket.count;
    own += bucket.part;
    buckets_.push_back(std::move(bucket));
  }
  if (layout_.whole_values) values_ = held_zeros(MemoryCategory::weights, end, options);
  if (layout_.whole_gradients) gradients_ = held_zeros(MemoryCategory::gradients, end, options);
  const bool own_values_apart = !layout_.whole_values || layout_.masters;
  const at::Tensor own_values = !own_values_apart     ? at::Tensor()
                                : layout_.host_values ? host_tensor(own, device)
                                                      : held_zeros(MemoryCategory::weights, own, options);
  const at::Tensor own_gradients =
      layout_.whole_gradients ? at::Tensor() : held_zeros(MemoryCategory::gradients, own, options);
  for (ParameterBucket& bucket : buckets_) {
    if (!layout_.whole_values) bucket.values = ElasticTensor(bucket.count, options);
    if (!layout_.whole_gradients) bucket.gradients = ElasticTensor(bucket.count, options);
    const auto mine = [&](const at::Tensor& apart, const at::Tensor& whole) {
      return apart.defined() ? apart.narrow(0, bucket.own_begin, bucket.part)
                             : whole.narrow(0, bucket.begin + layout_.part * bucket.part, bucket.part);
    };
    bucket.own_values = mine(own_values, values_);
    bucket.own_gradients = mine(own_gradients, gradients_);
  }
  own_.clear();
  if (layout_.whole_updates) {
    own_.push_back({.begin = 0, .values = values_, .gradients = gradients_});
    return;
  }
  if (own_values.defined() && own_gradients.defined()) {
    own_.push_back({.begin = 0, .values = own_values, .gradients = own_gradients});
    return;
  }
  for (const ParameterBucket& bucket : buckets_)
    own_.push_back(
        {.begin = bucket.own_begin, .values = bucket.own_values, .gradients = bucket.own_gradients});
}

void Parameters::first_values_of_buckets(std::int64_t seed) {
  for (ParameterBucket& bucket : buckets_) {
    const at::Tensor whole = whole_values(bucket);
    if (!layout_.whole_values) {
      bucket.values.take();
      at::Tensor(whole).zero_();
    }
    for (const Parameter& parameter : all_) {
      if (parameter.flat_begin >= bucket.begin && parameter.flat_begin < bucket.begin + bucket.count)
        at::Tensor(parameter.tensor.detach()).copy_(initial_values(parameter, seed));
    }
    const at::Tensor mine = whole.narrow(0, layout_.part * bucket.part, bucket.part);
    if (!layout_.whole_values || layout_.masters) bucket.own_values.copy_(mine);
    bucket.values.release();
  }
}

}  // namespace isobar
