#pragma once
// Memory that training the vision transformer takes on one rank, counted from its shape.
#include <algorithm>
#include <cstdint>

#include "formula/vit_counts.h"

namespace isobar {

/// How a model is trained, as far as memory asks.
struct TrainingForm {
  std::int64_t batch = 1;        ///< samples that the model computes at a time
  std::int64_t tp = 1;           ///< ranks that share each layer (model/tensor_parallel.h)
  bool shares_tokens = false;    ///< mesh.sequence_parallel
  std::int64_t value_bytes = 4;  ///< bytes of an activation: 4, or 2 in 16 bits
  bool fused = false;       ///< the norms are fused with the casts behind them, q, k and v are one product
  bool fused_loss = false;  ///< the loss comes straight from the head's tokens
  bool fused_adam = false;
};

/// Bytes on one rank, without the batch (data/loader.h). t ranks share a model, v bytes are a value, R =
/// batch x N tokens, F = batch x C H W values of a field each.
struct TrainingBytes {
  std::uint64_t weights = 0;    ///< 4 a parameter on this rank, and 2 more where products take 16 bits
  std::uint64_t gradients = 0;  ///< 4
  std::uint64_t moments = 0;    ///< 8, the two of Adam
  /// What the forward pass keeps for the backward pass. Each block, of R E: inputs of the two norms 8; their
  /// outputs, which enter the split layers, 2 v (unfused in 16 bits 8: a cast each for q, k and v, and one
  /// for the MLP); of split layers q, k and v 3 v, attention v, the MLP before and behind its activation 8 v,
  /// all over t. The last norm 4 + v. With shared tokens what lies between the layers, over t too. The
  /// patches as rows v F where they are laid out: fused, or cast to 16 bits (else the batch itself is kept).
  std::uint64_t activations = 0;
  /// What the backward pass needs beside it, the larger of two moments. Where it begins, 12 F: the difference
  /// of forecast and target, that over its length, and its gradient (the forecast is gone by then); of the
  /// fused loss 2 v F, the head's output and its gradient. In the MLP of the last block, when those are gone,
  /// of R E: gradients of the residual stream and of the block's output 8, of the hidden units behind their
  /// activation 4 v / t (those before it take the place of what was kept), less the last norm's 4 + v, which
  /// are free.
  std::uint64_t working = 0;
  /// What plain Adam makes when activations are gone, 4 a parameter: the denominator.
  std::uint64_t update = 0;

  std::uint64_t state() const { return weights + gradients + moments; }
  std::uint64_t total() const { return state() + std::max(activations + working, update); }
};

/// Parameters that one of `tp` ranks holds: of the matrices of attention and the MLP and their first biases a
/// share, all of the rest.
std::int64_t parameters_on_rank(const VitShape& shape, std::int64_t tp);

TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form);

}  // namespace isobar
