#include "model/relative_l2.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <string>

#include "device/operator_watch.h"

namespace isobar {

at::Tensor relative_l2(const at::Tensor& prediction, const at::Tensor& target) {
  static const std::string kModule = "loss";
  const ModuleScope scope(kModule);
  const auto norm_per_sample = [](const at::Tensor& t) {
    return at::linalg_vector_norm(t.flatten(1), 2, {{1}});
  };
  return (norm_per_sample(prediction - target) / norm_per_sample(target)).mean();
}

}  // namespace isobar
