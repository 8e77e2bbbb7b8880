#pragma once
// Memory that training the plain vision transformer in float32 takes, counted from its shape.
#include <cstdint>

#include "formula/vit_counts.h"

namespace isobar {

struct TrainingBytes {
  /// 16 bytes a parameter: weights, gradients and the two moments of Adam, and 4 more while Adam works.
  std::uint64_t state = 0;
  /// What the forward pass keeps for the backward pass, by sample: 64 N E bytes a block (inputs of the two
  /// norms 8, their outputs 8, q, k and v 12, attention 4, the MLP before and behind its activation 32), the
  /// last norm 8 N E, and 7 fields of 4 C H W bytes at both ends (batch 2, head, un-patched, difference, and
  /// two gradients).
  std::uint64_t activations = 0;
  std::uint64_t total() const { return state + activations; }
};

TrainingBytes count_training_bytes(const VitShape& shape, std::int64_t batch);

}  // namespace isobar
