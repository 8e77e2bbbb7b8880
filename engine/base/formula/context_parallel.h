#pragma once
// What the ranks that share the tokens of a model send each other in a step (model/context_parallel.h). c
// ranks, n tokens of a sample on a rank (core/token_shares.h), N on all; b samples, E channels, t ranks
// share a layer; v bytes are a value on the wire, g a gradient of one. With even shares and R = b N a block
// sends, in R E v / t (g = v):
//     gather 4 (c - 1)/c, gather_again and ring 6 (c - 1)/c, a2a 8 (c - 1)/c^2,
// and with model.window = w at most 8 b w E v / t, whatever c is. model.checkpoint = block sends what is sent
// forward once more.
#include <array>
#include <cstdint>

#include "config/config.h"
#include "formula/link.h"
#include "formula/vit_counts.h"

namespace isobar {

struct ContextParallelForm {
  std::int64_t cp = 1;  ///< c
  ContextForm way = ContextForm::gather;
  std::int64_t tp = 1;              ///< t
  std::int64_t samples = 1;         ///< b, of one pass
  std::int64_t passes = 1;          ///< a step
  std::int64_t value_bytes = 4;     ///< v: 4, or 2
  std::int64_t gradient_bytes = 4;  ///< g: 4, or 2
  std::int64_t shards = 1;  ///< replicas that share the states (mesh.zero): of the sum each has a part
  bool again = false;       ///< backward begins with a block's forward pass (model.checkpoint = block)
};

/// The form of a configuration whose activations have `value_bytes`; the passes of a rollout are those of its
/// forecasts.
ContextParallelForm context_form(const Config& config, std::int64_t value_bytes);

/// Bytes that a rank sends, collectives that it takes part in, and messages of these one behind the other.
struct ContextTraffic {
  double forward_bytes = 0, backward_bytes = 0;
  std::int64_t forward_calls = 0, backward_calls = 0;
  std::int64_t forward_turns = 0, backward_turns = 0;

  double bytes() const { return forward_bytes + backward_bytes; }
  std::int64_t calls() const { return forward_calls + backward_calls; }
};

/// One block in one pass, on rank `index` of the c; exact for uneven shares.
///   gather        K and V of all are gathered forward, and their gradients scattered backward, in parts of
///                 the largest share: 2 (c - 1) n v, and as much with g
///   gather_again  K and V are gathered backward once more
///   ring          K and V go to the next rank c - 1 times, forward and backward; gradients follow them home
///   a2a           q, k, v for heads, the output for tokens; backward their gradients
///   a window      the w tokens next to each neighbour, K and V; backward their gradients
/// Where the block is computed again its messages forward are sent again, backward.
/// Error (exit code 2) for fewer tokens than ranks.
ContextTraffic context_block_traffic(const VitShape& shape, const ContextParallelForm& form,
                                     std::int64_t index);
/// Whether a2a has whole heads for each rank: c divides h / t.
bool has_heads_for_all(const VitShape& shape, const ContextParallelForm& form);

/// A whole step, on rank `index`.
struct ContextStep {
  ContextTraffic blocks = {};      ///< all of them
  double share_bytes = 0;          ///< gradients of all tokens, gathered in float32 behind the first block
  double unite_bytes = 0;          ///< outputs of the last norm, gathered in front of the head
  double sum_bytes = 0;            ///< gradients of own tokens, summed in float32: blocks and the last norm
  std::int64_t summed_values = 0;  ///< parameters of those
  std::int64_t calls = 0;          ///< all, one for the sum
  double bytes() const { return blocks.bytes() + share_bytes + unite_bytes + sum_bytes; }
};
ContextStep context_step(const VitShape& shape, const ContextParallelForm& form, std::int64_t index);

/// How long a rank waits for these in a step, where nothing is computed beside them: a for each turn, and
/// bytes / B. A gather and a2a have c - 1 turns, a ring one a call, a window's halo one.
struct ContextTimes {
  double forward_us = 0, backward_us = 0;
  double sum_us = 0;  ///< behind backward
  double total_us() const { return forward_us + backward_us + sum_us; }
};
ContextTimes context_times(const VitShape& shape, const ContextParallelForm& form, const Link& link);

/// The four ways, in the order of mesh.cp_comm, on rank `index`.
std::array<ContextStep, kContextForms.size()> context_ways(const VitShape& shape, ContextParallelForm form,
                                                           std::int64_t index);

}  // namespace isobar
