#pragma once
// One model on several ranks, layer by layer (Shoeybi et al. 2019, "Megatron-LM", section 3; sequence
// parallel: Korthikanti et al. 2022). Of two matrices one behind the other the first is cut by outputs (each
// rank has some hidden units, or some heads), the second by inputs, so that each rank ends with a part of a
// sum:
//
//     y = leave(act(enter(x) W1^T + b1) W2^T) + b2        the second bias once, behind the sum
//
// enter (Megatron's f) copies forward and adds gradients up backward; leave (g) adds up forward and copies
// backward. All ranks of a model see the same samples, and what is not cut is equal on all of them. With
// mesh.sequence_parallel each rank keeps its share of the tokens between leave and enter: leave scatters the
// sum, enter gathers the tokens, and norms and second biases see a share of the tokens each. R tokens of all
// samples, t ranks.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "comm/comm.h"
#include "config/config.h"
#include "model/model_ranks.h"
#include "model/parameters.h"

namespace isobar {

/// A handle: copies mean the same ranks.
class TensorParallel {
 public:
  /// One rank holds all of the model. Nothing is cut and nothing sent.
  TensorParallel() = default;
  /// The ranks of `comm` share one model; it outlives this and all graphs of autograd that were made with it.
  /// With comm.sync = none in a run that measures on made-up data nothing is sent: results are noise then.
  TensorParallel(Comm& comm, const Config& config);

  int count() const;  ///< t
  int index() const;  ///< this rank's, from 0
  /// Whether each rank keeps its share of the tokens between the layers.
  bool shares_tokens() const;

  Shard by_outputs() const { return part(0); }  ///< rows of W, and its bias
  Shard by_inputs() const { return part(1); }   ///< columns of W
  /// Whether the bias of a layer cut by inputs is added once, as it should be, or by each rank to its part.
  bool bias_behind_sum() const;

  /// In front of layers that are cut by outputs. [R, ...] -> [R, ...]; with shared tokens [R/t, ...] -> [R,
  /// ...].
  at::Tensor enter(const at::Tensor& x) const;
  /// Behind a layer that is cut by inputs: the sum over the ranks. `x` may be written to. [R, ...] -> [R,
  /// ...], with shared tokens [R/t, ...].
  at::Tensor leave(const at::Tensor& x) const;
  /// This rank's share of tokens that all have: [R, ...] -> [R/t, ...], a view. All of them where they are
  /// not shared.
  at::Tensor share(const at::Tensor& x) const;
  /// All tokens, for what every rank computes alike: [R/t, ...] -> [R, ...]. Its gradient is the same on all.
  at::Tensor unite(const at::Tensor& x) const;

  /// Adds up, over the ranks, the gradients of which each has a part only (ParameterSpec::sums_over_tp): in
  /// one message, behind backward.
  void sum_partial_gradients(Parameters& parameters) const;

  /// `contribution`, a float64 tensor of one part for each rank, replaced by its sum over the ranks; the same
  /// bits on all.
  void sum(const at::Tensor& contribution) const;

  /// Figures of the training step; forward passes between steps, which score, are left out.
  TensorParallelFigures take_figures() const;
  /// How long the host stood still for the ranks of the model, in what take_figures did not take yet.
  std::int64_t waited_us() const { return ranks_ ? ranks_->waited_us() : 0; }

 private:
  Shard part(std::int64_t dim) const;

  std::shared_ptr<ModelRanks> ranks_;  ///< null = one rank
};

}  // namespace isobar
