#include "model/parameter_store.h"

#include <algorithm>

#include "core/error.h"
#include "model/owner_map.h"

namespace isobar {

const at::Tensor& ParameterStore::values() const {
  if (!values_.defined() && !own_.empty())
    throw Error("the weights are not here in full: ranks share them out", "mesh.zero = 3", "", Exit::failed);
  return values_;
}

const at::Tensor& ParameterStore::gradients() const {
  if (!gradients_.defined() && !own_.empty())
    throw Error("the gradients are not here in full: ranks share them out", "mesh.zero = 2 or 3", "",
                Exit::failed);
  return gradients_;
}

at::Tensor ParameterStore::whole_values(const ParameterBucket& bucket) const {
  return values_.defined() ? values_.narrow(0, bucket.begin, bucket.count) : bucket.values.tensor();
}

at::Tensor ParameterStore::whole_gradients(const ParameterBucket& bucket) const {
  return gradients_.defined() ? gradients_.narrow(0, bucket.begin, bucket.count) : bucket.gradients.tensor();
}

const ParameterBucket& ParameterStore::bucket_at(std::int64_t flat_begin) const {
  const auto behind =
      std::upper_bound(buckets_.begin(), buckets_.end(), flat_begin,
                       [](std::int64_t at, const ParameterBucket& bucket) { return at < bucket.begin; });
  return *(behind - 1);
}

std::int64_t ParameterStore::own_count() const {
  return own_.empty() ? 0 : own_.back().begin + own_.back().values.numel();
}

OwnStretch ParameterStore::own_stretch(const Parameter& parameter) const {
  if (!is_shared_out())
    return {.in_parameter = 0, .in_own = parameter.flat_begin, .count = parameter.tensor.numel()};
  const ParameterBucket& bucket = bucket_at(parameter.flat_begin);
  OwnStretch out =
      seams::owned_stretch({.begin = parameter.flat_begin - bucket.begin, .count = parameter.tensor.numel()},
                           bucket.part, layout_.parts, layout_.part);
  if (out.count > 0) out.in_own += bucket.own_begin;
  return out;
}

at::Tensor ParameterStore::own_values(const Parameter& parameter) const {
  return own_part(parameter, &OwnPiece::values);
}

at::Tensor ParameterStore::own_gradients(const Parameter& parameter) const {
  return own_part(parameter, &OwnPiece::gradients);
}

at::Tensor ParameterStore::own_part(const Parameter& parameter, at::Tensor OwnPiece::*of) const {
  const OwnStretch stretch = own_stretch(parameter);
  const auto behind =
      std::upper_bound(own_.begin(), own_.end(), stretch.in_own,
                       [](std::int64_t at, const OwnPiece& piece) { return at < piece.begin; });
  const OwnPiece& piece = *(behind - 1);
  return (piece.*of).narrow(0, stretch.in_own - piece.begin, stretch.count);
}

}  // namespace isobar
