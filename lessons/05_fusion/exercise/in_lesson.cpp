// ./isobar run 05_fusion --mine: its model computes bias and GELU by the learner's part.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <span>
#include <vector>

#include "05_fusion/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "fused/operations.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

/// Calls use(c10::Half()) or use(c10::BFloat16()).
template <class Use>
void with_short_type(ElementType type, const Use& use) {
  if (type == ElementType::f16) return use(c10::Half());
  use(c10::BFloat16());
}

/// A matrix in float32: itself, or a copy where its own type has 16 bits.
class Matrix {
 public:
  Matrix(ElementType type, const void* values, std::int64_t count)
      : values_(static_cast<const float*>(values)), count_(static_cast<std::size_t>(count)) {
    if (type == ElementType::f32) return;
    with_short_type(type, [&]<class Type>(Type) {
      const auto* const first = static_cast<const Type*>(values);
      copy_.assign(first, first + count_);
    });
    values_ = copy_.data();
  }
  std::span<const float> floats() const { return {values_, count_}; }

 private:
  const float* values_;
  std::size_t count_;
  std::vector<float> copy_;
};

/// Where the part writes: `values` itself, or by way of a copy.
class Result {
 public:
  Result(ElementType type, void* values, std::int64_t count)
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

std::span<const float> bias_of(const auto& job) { return {job.bias, static_cast<std::size_t>(job.columns)}; }

const PluggedIn forward(seams::bias_gelu_forward, [](const BiasGeluForward& job) {
  const Matrix x(job.type, job.x, job.rows * job.columns);
  Result y(job.type, job.y, job.rows * job.columns);
  own_part_as<exercise::Part>().bias_gelu_forward(x.floats(), bias_of(job), y.floats());
  y.store();
});
const PluggedIn backward(seams::bias_gelu_backward, [](const BiasGeluBackward& job) {
  const std::int64_t count = job.rows * job.columns;
  const Matrix x(job.type, job.x, count), dy(job.type, job.dy, count);
  Result dx(job.type, job.dx, count);
  own_part_as<exercise::Part>().bias_gelu_backward(x.floats(), bias_of(job), dy.floats(), dx.floats(),
                                                   {job.dbias, static_cast<std::size_t>(job.columns)});
  dx.store();
});
const PluggedIn check(seams::check_run, [](const Config& config, c10::Device device) {
  if (!config.fusion.bias_gelu || has_fault(Fault::tanh_gelu))
    throw Error("your part computes bias and GELU in their erf form, and the model is to do without",
                "--mine", "--set fusion.bias_gelu=true, and no run.fault=tanh_gelu");
  if (!device.is_cpu())
    throw Error("your part computes on a CPU, and the model is on " + device.str(), "--mine",
                "--set run.device=cpu");
});

}  // namespace
