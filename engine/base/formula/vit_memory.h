#pragma once
// Memory that training the vision transformer takes on one rank, counted from its shape.
#include <algorithm>
#include <cstdint>

#include "formula/recompute.h"
#include "formula/state_shares.h"
#include "formula/vit_counts.h"

namespace isobar {

/// How a model is trained, as far as memory asks.
struct TrainingForm {
  std::int64_t batch = 1;    ///< samples that the model computes at a time
  std::int64_t tokens = 0;   ///< a sample's on this rank, in blocks and their norms; 0 = all (N)
  std::int64_t leads = 1;    ///< forecasts one behind the other, whose passes are all kept (train.rollout)
  std::int64_t members = 1;  ///< models of an ensemble, whose forecasts the loss has beside those of `batch`
  bool has_members = false;  ///< the loss is of an ensemble or a rollout
  KeptForm kept = {};        ///< the blocks, with the ranks that share a layer and the bytes of an activation
  bool fused = false;        ///< the norms are fused with the casts behind them, q, k and v are one product
  bool fused_loss = false;   ///< the loss comes straight from the head's tokens
  bool fused_adam = false;
  StateShares shares = {};         ///< the states over data-parallel ranks
  std::int64_t gathered = 2;       ///< stage 3: units whose weights are there at a time
  double bucket_bytes = 25 << 20;  ///< stage 2: gradients that travel together
};

/// Bytes on one rank, without the batch (data/loader.h). t ranks share a layer, v bytes are a value, R =
/// batch x n tokens of this rank (n = N unless ranks share them), F = batch x C H W values of a field each.
struct TrainingBytes {
  // States as formula/state_shares.h has them; 2 bytes a parameter more where products take 16 bits.
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;
  std::uint64_t moments = 0;  ///< the two of Adam
  /// What the forward pass keeps for the backward pass: of each block what formula/recompute.h counts, and of
  /// R E the last norm 4, and its output v of all N tokens (with shared tokens over t). The patches as rows v
  /// F where they are laid out: fused, or cast to 16 bits (else the batch itself is kept). All of it `leads`
  /// times, with 4 F of each forecast where the loss is of several, and 4 F of each member.
  std::uint64_t activations = 0;
  /// What the backward pass needs beside it, the larger of two moments. Where it begins, 12 F: the difference
  /// of forecast and target, that over its length, and its gradient (the forecast is gone by then); of the
  /// fused loss 2 v F, the head's output and its gradient. In the MLP of the last block, when those are gone,
  /// of R E: gradients of the residual stream and of the block's output 8, of the hidden units behind their
  /// activation 4 v / t (those before it take the place of what was kept), less the last norm's, which are
  /// free; and what of this block, or of checkpoint_every blocks, was computed again. Where ranks share the
  /// tokens attention behind it may need more: KeptForm::passing v / t, when the MLP's 4 + 8 v / t are free.
  std::uint64_t working = 0;
  /// What plain Adam makes when activations are gone, 4 a parameter that it updates: the denominator.
  std::uint64_t update = 0;
  /// Stage 3: whole weights of the units that compute or come next; in 16 bits their casts beside them. Stage
  /// 2: gradients of two buckets, one that fills and one that travels.
  std::uint64_t in_flight = 0;
  std::uint64_t host = 0;  ///< states that lie in host memory, beside all others
  // Parts of the above, for who draws a step.
  std::uint64_t patches = 0, last_norm = 0;  ///< in `activations`: what is not the blocks'
  std::uint64_t turn = 0, mlp = 0;           ///< the two moments of `working`
  std::uint64_t redone = 0;                  ///< in `mlp`: what was computed again
  std::uint64_t gathered = 0;                ///< in `in_flight`: weights; the rest are gradients

  std::uint64_t state() const { return weights + gradients + moments; }
  std::uint64_t total() const { return state() + std::max(in_flight + activations + working, update); }
};

/// Parameters that one of `tp` ranks holds: of the matrices of attention and the MLP and their first biases a
/// share, all of the rest.
std::int64_t parameters_on_rank(const VitShape& shape, std::int64_t tp);

TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form);
/// With so many parameters on the rank, for who has some of the blocks.
TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form,
                                   std::int64_t parameters_here);

}  // namespace isobar
