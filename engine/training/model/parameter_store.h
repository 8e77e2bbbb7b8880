#pragma once
// The memory of parameters: values and gradients as a whole, and the part that this process updates.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/parameter.h"
#include "model/shared_layout.h"

namespace isobar {

/// All of these after Parameters::materialise, which fills it, but the first three.
class ParameterStore {
 public:
  /// Whether this rank updates a share only.
  bool is_shared_out() const { return has_buckets() && !layout_.whole_updates; }
  bool has_buckets() const { return !layout_.buckets.empty(); }
  const SharedLayout& shared_layout() const { return layout_; }

  // Error (exit code 1) where they are not here in full.
  const at::Tensor& values() const;     ///< [padded count] float32
  const at::Tensor& gradients() const;  ///< [padded count] float32, padding stays 0
  /// Type and device; those of values too, unless they lie in host memory (SharedLayout::host_values).
  at::TensorOptions options() const { return own_.at(0).gradients.options(); }

  std::vector<ParameterBucket>& buckets() { return buckets_; }  ///< none unless they are shared out
  const std::vector<ParameterBucket>& buckets() const { return buckets_; }
  at::Tensor whole_values(const ParameterBucket& bucket) const;     ///< [bucket.count], a view
  at::Tensor whole_gradients(const ParameterBucket& bucket) const;  ///< [bucket.count], a view

  /// What this process updates: the two flat buffers, or this rank's share of them.
  const std::vector<OwnPiece>& own() const { return own_; }
  std::int64_t own_count() const;  ///< elements of all pieces
  OwnStretch own_stretch(const Parameter& parameter) const;
  at::Tensor own_values(const Parameter& parameter) const;     ///< [own elements of it], a view
  at::Tensor own_gradients(const Parameter& parameter) const;  ///< [own elements of it], a view

 protected:
  const ParameterBucket& bucket_at(std::int64_t flat_begin) const;

  at::Tensor values_;     ///< undefined where they are not here in full
  at::Tensor gradients_;  ///< undefined where they are not here in full
  std::vector<OwnPiece> own_;
  SharedLayout layout_;
  std::vector<ParameterBucket> buckets_;

 private:
  at::Tensor own_part(const Parameter& parameter, at::Tensor OwnPiece::*of) const;
};

}  // namespace isobar
