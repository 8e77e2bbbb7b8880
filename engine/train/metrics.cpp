#include "train/metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

namespace isobar {

at::Tensor latitude_weights(std::int64_t height) {
  at::Tensor weights = at::empty({height}, at::kDouble);
  double* const values = weights.mutable_data_ptr<double>();
  for (std::int64_t j = 0; j < height; ++j) {
    const double latitude_deg =
        height > 1 ? 90.0 - 180.0 * static_cast<double>(j) / static_cast<double>(height - 1) : 0;
    values[j] = std::cos(latitude_deg * std::numbers::pi / 180.0);
  }
  return (weights * (static_cast<double>(height) / weights.sum())).to(at::kFloat);
}

at::Tensor weighted_rmse(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights) {
  return ((prediction - target).square() * weights.view({-1, 1})).mean({2, 3}).sqrt();
}

at::Tensor weighted_acc(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights) {
  const at::Tensor w = weights.view({-1, 1});
  const at::Tensor together = (w * prediction * target).sum({2, 3});
  const at::Tensor alone = (w * prediction.square()).sum({2, 3}) * (w * target.square()).sum({2, 3});
  return together / alone.sqrt();
}

}  // namespace isobar
