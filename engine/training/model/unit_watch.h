#pragma once
// The units of the model, whose weights are used together, and who is called around each. Unit 0 is the
// embedding (pos_embed, patch_embed), units 1 to D are the blocks, unit D + 1 is the last norm and the head.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "model/parameters.h"

namespace isobar {

struct ModelUnit {
  std::string name;                 ///< "embed", "blocks.0", ..., "head"
  std::vector<std::size_t> leaves;  ///< places in Parameters::leaves, rising
};

/// All units, in the order of the forward pass; every leaf is in one.
std::vector<ModelUnit> model_units(const Parameters& parameters);

/// A norm is computed with the sum in front of it, so the weights of the next unit are wanted before this one
/// ends: `begin_forward(u + 1)` comes in front of `end_forward(u)`. On the thread that computes.
class UnitWatch {
 public:
  virtual ~UnitWatch() = default;
  /// The weights of this unit are about to be used; again where it is computed again in a backward pass.
  virtual void begin_forward(std::size_t unit) = 0;
  /// The weights were used, and backward has not reached the unit yet.
  virtual void end_forward(std::size_t unit) = 0;
  /// Backward has reached the end of this unit. Its gradients are complete once each leaf of it has one.
  virtual void begin_backward(std::size_t unit) = 0;
  /// The values of a leaf in `type`, of 16 bits, until the unit's weights go; the layers keep it for
  /// backward.
  virtual at::Tensor cast(const at::Tensor& leaf, at::ScalarType type) = 0;
};

}  // namespace isobar
