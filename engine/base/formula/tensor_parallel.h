#pragma once
// What the ranks that share a model send each other in a step (model/tensor_parallel.h).
#include <cstdint>

#include "config/config.h"
#include "formula/link.h"
#include "formula/vit_counts.h"

namespace isobar {

struct TensorParallelForm {
  std::int64_t tp = 1;
  std::int64_t samples = 1;      ///< samples that the model trains on in a step, over all its backward passes
  std::int64_t value_bytes = 4;  ///< bytes of an activation on the wire: 4, or 2
  std::int64_t gradient_bytes = 4;  ///< bytes of its gradient on the wire
  bool shares_tokens = false;
  std::int64_t tokens = 0;  ///< tokens that a rank has of a sample, where mesh.cp shares them out; 0 = all

  /// R E: what one all-reduce of a block has, over all passes.
  double values(const VitShape& shape) const;
};

/// The form of a configuration whose activations have `value_bytes`; with mesh.cp, of the rank with most
/// tokens.
TensorParallelForm tensor_form(const Config& config, std::int64_t value_bytes);

/// Bytes that one rank sends. An all-reduce of S bytes costs it 2 (t - 1) / t S, as a ring does. A block has
/// two in each direction, each of R E values (R = samples x tokens of the rank): behind attention and behind
/// the MLP in forward, in front of both in backward. With shared tokens each is a reduce-scatter and an
/// all-gather, which together cost the same; the last norm's output is gathered once more, and gradients of
/// what sees a share of the tokens (norms, second biases, both embeddings) are added up in float32. The 16
/// bytes of the gradient's length are left out.
double tensor_parallel_wire_bytes(const VitShape& shape, const TensorParallelForm& form);

/// Collectives among the ranks of a model in a step of one backward pass: 4 a block, with shared tokens 8 and
/// two more; and one for the length of the gradient.
std::int64_t tensor_parallel_calls(const VitShape& shape, const TensorParallelForm& form);

/// How long a rank waits for those of its blocks in a step of `passes` passes, as all-reduces by rings, which
/// take as long as a reduce-scatter and an all-gather. What shared tokens need beside them is left out.
struct TensorParallelTimes {
  double forward_us = 0, backward_us = 0;
};
TensorParallelTimes tensor_parallel_times(const VitShape& shape, const TensorParallelForm& form,
                                          std::int64_t passes, const Link& link);

}  // namespace isobar
