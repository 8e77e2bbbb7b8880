#pragma once
// Activation checkpointing: a function whose forward pass keeps nothing but its inputs, and is done again in
// backward. (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost".)
#include <ATen/core/Tensor.h>

#include <functional>

#include "core/seam.h"
#include "fused/with_gradient.h"

namespace isobar {

struct Recomputed {
  std::function<TensorPair(const TensorPair& inputs)> forward;  ///< is not recorded
  /// The same function in backward, which is recorded: values of its results are not asked for, what they
  /// depend on is. Parameters get their gradients from it, so they are no inputs. Lives as long as the graph,
  /// and holds no activation. On several ranks all of them call it in the same order.
  std::function<TensorPair(const TensorPair& inputs)> again;
  /// Where it is set only the first input is kept, and this makes the second of it, in backward, which is not
  /// recorded.
  std::function<at::Tensor(const at::Tensor& first)> second = {};
  bool draws = false;  ///< random numbers
};

/// forward(inputs), as a node that keeps the inputs, or the first. Random numbers and the types of autocast
/// are the same in backward as they were here, and behind it the generator stands where it stood in front.
/// One of the inputs must want a gradient, else nothing is recorded.
TensorPair recomputed(const TensorPair& inputs, const Recomputed& function);

namespace seams {

inline constinit Seam<TensorPair(const TensorPair& inputs, const Recomputed& function)> recomputed{
    isobar::recomputed};

}  // namespace seams
}  // namespace isobar
