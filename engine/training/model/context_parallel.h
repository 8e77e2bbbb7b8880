#pragma once
// The tokens of one model on several ranks (context parallel: mesh.cp, mesh.cp_comm). Every rank has all
// weights and a share of the tokens of each sample (core/token_shares.h). Layers that compute token by
// token need nothing of the others; attention does. R = B N tokens of all samples, c ranks, n tokens of a
// sample here, h heads, d values a head.
//
// Gradients of blocks and of the last norm are of the own tokens only, and are summed over the ranks
// (ParameterSpec::sums_over_cp). Positions and patches are embedded before the tokens are shared out, and the
// head works on all tokens again: `share` gathers gradients backward, so that each rank has these in full.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "comm/comm.h"
#include "config/config.h"
#include "context/rank_messages.h"
#include "core/token_shares.h"
#include "model/parameters.h"

namespace isobar {

class ContextRanks;

/// A handle: copies mean the same ranks.
class ContextParallel {
 public:
  /// One rank has all tokens, and each attends to all.
  ContextParallel() = default;
  /// The ranks of `comm` (run.group("cp")) share the tokens of one model of `config`, by mesh.cp_comm; with
  /// model.window each token attends to so many on each side only. `comm` outlives this and all graphs made
  /// with it. A group of one sends nothing. Error (exit code 2): fewer tokens than ranks, a window larger
  /// than the smallest share, heads of a rank that c does not divide (a2a).
  ContextParallel(Comm& comm, const Config& config);

  int count() const;  ///< c
  int index() const;
  /// Whether attention is not that of one rank over all tokens.
  bool has_own_attention() const { return ranks_ != nullptr; }
  /// This rank's tokens of a sample of `tokens`.
  TokenShare own(std::int64_t tokens) const;

  /// Behind the embedding: [B N, E] -> [B n, E]. Backward gathers the gradients of all tokens.
  at::Tensor share(const at::Tensor& x, std::int64_t batch) const;
  /// Behind the last norm: [B n, E] -> [B N, E]. Backward takes the own tokens' gradients, which are the same
  /// on all ranks.
  at::Tensor unite(const at::Tensor& x, std::int64_t batch) const;
  /// Scaled-dot-product attention of the own tokens' queries over the keys and values of all tokens, or of a
  /// window: three of [B, h, n, d] -> [B, h, n, d].
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;

  /// Adds up, over the ranks, gradients that are of the own tokens only (ParameterSpec::sums_over_cp); behind
  /// their mean over replicas.
  void sum_partial_gradients(Parameters& parameters) const;

  /// Figures of the training step; forward passes between steps, which score, are left out.
  TensorParallelFigures take_figures() const;
  /// How long the host stood still for these ranks, in what take_figures did not take yet.
  std::int64_t waited_us() const;

 private:
  std::shared_ptr<ContextRanks> ranks_;  ///< null = one rank, and no window
};

}  // namespace isobar
