#pragma once
// The continuous ranked probability score of an ensemble and its gradient, without autograd. Memory is that
// of the forecasts twice over, whatever the number of pairs.
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isobar {

/// What the sums of a CRPS count for.
struct CrpsWeights {
  double error = 0;   ///< multiplies sum_j |x_j - y|
  double spread = 0;  ///< multiplies sum_{j<k} |x_j - x_k|, which is subtracted
};

/// Almost fair CRPS (train/objective.h) of `members` M: 1/M and (1 - eps) / (M (M - 1)), eps = (1 - alpha)/M.
/// Error (exit code 1) for fewer than two.
CrpsWeights crps_weights(std::int64_t members, double alpha);

/// The score of each value: forecasts [M, ...] and target [...] -> [...], in their type. Error (exit code 1)
/// where the shapes do not fit.
at::Tensor crps_of_values(const at::Tensor& forecasts, const at::Tensor& target, const CrpsWeights& weights);

/// Its derivative by each forecast, [M, ...]; 0 between values that are equal.
at::Tensor crps_slopes(const at::Tensor& forecasts, const at::Tensor& target, const CrpsWeights& weights);

}  // namespace isobar
