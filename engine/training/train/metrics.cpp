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

// A field each of a batch may be large: no more than one is made beside the arguments.
at::Tensor weighted_rmse(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights) {
  return (prediction - target).square_().mul_(weights.view({-1, 1})).mean({2, 3}).sqrt();
}

at::Tensor weighted_acc(const at::Tensor& prediction, const at::Tensor& target, const at::Tensor& weights) {
  const at::Tensor w = weights.view({-1, 1});
  const auto weighted_squares = [&](const at::Tensor& values) { return values.square().mul_(w).sum({2, 3}); };
  const at::Tensor together = (prediction * w).mul_(target).sum({2, 3});
  const at::Tensor predicted = weighted_squares(prediction);
  return together / (predicted * weighted_squares(target)).sqrt();
}

}  // namespace isobar
