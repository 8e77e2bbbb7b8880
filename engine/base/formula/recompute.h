#pragma once
// Activation checkpointing (model.checkpoint): bytes that the blocks keep from forward to backward, bytes
// that come back while a part is computed again, and operations that this takes. N tokens of a sample, E
// embed, D depth, h heads; t ranks share a layer, and s = t where they share the tokens too, else 1; v bytes
// are a value; k blocks are computed again together. R = batch x N.
// (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; Korthikanti et al. 2022, "Reducing
// Activation Recomputation in Large Transformer Models", whose selective form keeps what ours redoes: they
// redo attention, which a fused kernel does not write down anyway.)
#include <cstdint>

#include "config/config.h"
#include "formula/vit_counts.h"

namespace isobar {

/// How blocks are trained, as far as their activations ask.
struct KeptForm {
  CheckpointKind kind = CheckpointKind::none;
  std::int64_t every = 1;        ///< k, of `block`
  std::int64_t value_bytes = 4;  ///< v: 4, or 2 in 16 bits
  std::int64_t tp = 1;           ///< t
  bool shares_tokens = false;    ///< mesh.sequence_parallel
  bool plain = false;            ///< layers of libtorch one by one: no fusion, no ranks that share tokens
  double dropout = 0;            ///< model.dropout of a training step
  /// Where ranks share the tokens (mesh.cp): what attention has beside queries, keys, values and outputs of
  /// the own tokens, in values a channel of each of these. `gathered` it keeps: gathered K and V 2 N/n; a2a
  /// 1, its output by heads; with a window q and outputs in m blocks of b = max(w, 64) tokens, K and V in
  /// blocks of b + 2 w, in place of its own: m (4 b + 4 w)/n - 3. `passing` it has for a moment, backward:
  /// gradients of what was gathered and their messages, of gather_again K and V too, messages of a ring.
  double gathered = 0, passing = 0;
};

/// What one block keeps, or a mean block where several are kept together, on one rank.
///
///                per token and channel                                    per token
///   none         8/s + 2v + 12 v/t: inputs of both norms (float32) 8/s, their outputs as layers take them
///                2v, q k v 3 v/t, attention v/t, before and behind GELU 8 v/t.   16/s + 4 h/t
///                plain in 16 bits: 8 in place of 2v, a cast for each of q, k, v, fc1
///   cheap        8/s + 8 v/t: norms and GELU are redone from their inputs      16/s + 4 h/t
///   selective    4/s + 4 v/t: the block's input, q k v, attention               8/s + 4 h/t
///   block        4/s of each k blocks, the input of the first                   8/s of each k blocks
///
/// And g v/t, g = KeptForm::gathered, but for `block`. Per token: mean and reciprocal deviation of a norm (4
/// + 4), and of each head the logarithm of a softmax's sum (4), which fused attention keeps; attention that
/// writes its N x N matrices keeps those instead (MemoryPlan::attention). Dropout: 1 byte a value behind each
/// branch, so 2 more, unless it is redone (selective, block).
struct KeptBytes {
  double per_value = 0;  ///< times R E
  double per_token = 0;  ///< times R
};

KeptBytes kept_by_block(const KeptForm& form, const VitShape& shape);

/// What all blocks keep for `rows` = R tokens: D times that.
double kept_by_blocks(const KeptForm& form, const VitShape& shape, std::int64_t rows);

/// What lies in memory beside it while a part is computed again, of R E, at most: cheap 4 v/t, GELU's output;
/// selective 4/s + v + 8 v/t, from the second norm's input to GELU's output; block those of k blocks but for
/// the one input that was kept: k (2v + (12 + g) v/t + 4/s) + (k - 1) 4/s, and 2 k of dropout. None: 0.
double redone_bytes_per_value(const KeptForm& form);

/// Operations of one sample's forward pass that are done again in backward, over all ranks of a model: cheap
/// none that count; selective D 10 N E^2, the projection and the MLP's first layer; block D (24 N E^2 + 4 N^2
/// E) less 8 N E^2 for each k blocks, the last layer of all, whose output backward does not need.
double redone_flops(const KeptForm& form, const VitShape& shape);

/// training_flops with and without them: by this factor the arithmetic of a step grows.
double recompute_factor(const KeptForm& form, const VitShape& shape);

/// Queries that attention over a window takes together: b = max(w, 64).
std::int64_t window_block(const Config& config);

/// With a window: the values of the mask of a sample, on the rank with most tokens. All blocks of a model,
/// and micro-batches, keep the same one: for each of m blocks of b queries (KeptForm) b rows of b + 2 w
/// values, up to a multiple of 8. 0 without a window.
std::int64_t window_mask_values(const Config& config);

/// The form of a configuration whose activations have `value_bytes`.
KeptForm kept_form(const Config& config, std::int64_t value_bytes);

}  // namespace isobar
