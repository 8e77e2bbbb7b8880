#pragma once
// What is given and what is promised in the exercise of lesson 01. You write my/01_step.cpp.
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace isobar::exercise {

struct AdamSetting {
  double beta1 = 0.9;   ///< how much m remembers
  double beta2 = 0.95;  ///< how much v remembers
  double eps = 1e-8;    ///< keeps the divisor away from zero
};

/// What Adam keeps from one update to the next; a checkpoint holds it.
struct AdamState {
  at::Tensor mean;         ///< m, a value for each weight; zeros at first
  at::Tensor square;       ///< v, the same
  std::int64_t steps = 0;  ///< updates made so far
};

}  // namespace isobar::exercise

namespace isobar::mine {

/// Promised: all of them are 0, whatever they were. The gradient of each parameter is a view of this memory.
void zero_gradients(at::Tensor& gradients);

/// Promised: a scalar that backward can start from, the mean over the samples of ||prediction - target|| /
/// ||target||. Both are [B, ...] of one shape, B samples; a norm is over all values of a sample. Where a
/// prediction is exact, its gradient is 0. Neither tensor is changed.
at::Tensor relative_l2(const at::Tensor& prediction, const at::Tensor& target);

/// Promised: one update of `weights`, of which each parameter is a view, and of `state`; t is 1 in the first.
///   m = beta1 m + (1 - beta1) g            v = beta2 v + (1 - beta2) g^2
///   weight = weight - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
/// All tensors have one shape, and autograd does not watch. The gradients are not changed.
void adam_step(at::Tensor& weights, const at::Tensor& gradients, exercise::AdamState& state,
               double learning_rate, const exercise::AdamSetting& setting);

}  // namespace isobar::mine
