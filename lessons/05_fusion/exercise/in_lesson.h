#pragma once
// Read before main.cpp by ./isobar run 05_fusion --mine: its model computes bias and GELU by your part.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <span>
#include <vector>

#include "05_fusion/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "fused/bias_gelu_form.h"
#include "model/fused_vit.h"

namespace isobar {

inline const exercise::Part& your_part() { return own_part_as<exercise::Part>(); }

/// Calls use(c10::Half()) or use(c10::BFloat16()).
template <class Use>
void with_short_type(ElementType type, const Use& use) {
  if (type == ElementType::f16) return use(c10::Half());
  use(c10::BFloat16());
}

/// A matrix in float32: itself, or a copy where its own type has 16 bits.
class YourMatrix {
 public:
  YourMatrix(ElementType type, const void* values, std::int64_t count)
      : type_(type), count_(static_cast<std::size_t>(count)), values_(static_cast<const float*>(values)) {
    if (type_ == ElementType::f32) return;
    with_short_type(type_, [&]<class Type>(Type) {
      const auto* const first = static_cast<const Type*>(values);
      copy_.assign(first, first + count_);
    });
    values_ = copy_.data();
  }
  std::span<const float> floats() const { return {values_, count_}; }

 private:
  ElementType type_;
  std::size_t count_;
  const float* values_;
  std::vector<float> copy_;
};

/// Where your part writes: `values` itself, or by way of a copy.
class YourResult {
 public:
  YourResult(ElementType type, void* values, std::int64_t count)
      : type_(type), count_(static_cast<std::size_t>(count)), values_(values) {
    if (type_ != ElementType::f32) copy_.resize(count_);
  }
  std::span<float> floats() {
    return {type_ == ElementType::f32 ? static_cast<float*>(values_) : copy_.data(), count_};
  }
  void store() const {
    if (type_ == ElementType::f32) return;
    with_short_type(
        type_, [&]<class Type>(Type) { std::copy(copy_.begin(), copy_.end(), static_cast<Type*>(values_)); });
  }

 private:
  ElementType type_;
  std::size_t count_;
  void* values_;
  std::vector<float> copy_;
};

inline void your_forward(const BiasGeluForward& job) {
  const std::int64_t count = job.rows * job.columns;
  const YourMatrix x(job.type, job.x, count);
  const YourMatrix bias(ElementType::f32, job.bias, job.columns);
  YourResult y(job.type, job.y, count);
  your_part().bias_gelu_forward(x.floats(), bias.floats(), y.floats());
  y.store();
}

inline void your_backward(const BiasGeluBackward& job) {
  const std::int64_t count = job.rows * job.columns;
  const YourMatrix x(job.type, job.x, count);
  const YourMatrix bias(ElementType::f32, job.bias, job.columns);
  const YourMatrix dy(job.type, job.dy, count);
  YourResult dx(job.type, job.dx, count);
  const std::span<float> dbias(job.dbias, static_cast<std::size_t>(job.columns));
  your_part().bias_gelu_backward(x.floats(), bias.floats(), dy.floats(), dx.floats(), dbias);
  dx.store();
}

class YourFusedVit : public FusedVit {
 public:
  YourFusedVit(Parameters& parameters, const VitShape& shape, const FusionConfig& fusion,
               AttentionKind attention)
      : FusedVit(parameters, shape, fusion, attention) {
    if (!fusion.bias_gelu || fusion.tanh_gelu)
      throw Error("your part computes bias and GELU in their erf form, and the model is to do without",
                  "--mine", "--set fusion.bias_gelu=true, and no run.fault=tanh_gelu");
    set_bias_gelu_form({.forward = your_forward, .backward = your_backward});
  }

  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const {
    if (!image.device().is_cpu())
      throw Error("your part computes on a CPU, and the model is on " + image.device().str(), "--mine",
                  "--set run.device=cpu");
    return FusedVit::loss(image, target);
  }
};

}  // namespace isobar

#define FusedVit YourFusedVit
