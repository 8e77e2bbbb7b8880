#pragma once
// What a step minimises: the relative L2 loss of one forecast, the mean over the forecasts of a rollout
// (train.rollout), or the almost fair CRPS of an ensemble (members > 1). R forecasts, M members of a sample
// over all models of its ensemble, m of them here, b samples.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "comm/comm.h"
#include "config/config.h"
#include "data/loader.h"
#include "model/fused_vit.h"

namespace isobar {

/// A handle: copies mean the same ranks.
class Objective {
 public:
  /// The relative L2 loss of one forecast.
  Objective() = default;
  /// `ensemble` = run.group("ens"), the ranks that have the other models' members; it outlives this and all
  /// graphs made with it. With comm.sync = none and run.measure = synthetic nothing is sent.
  Objective(Comm& ensemble, const Config& config);

  /// Whether the loss is FusedVit::loss, of one forecast and one member.
  bool is_plain() const { return core_ == nullptr; }
  std::int64_t members() const;       ///< M
  std::int64_t members_here() const;  ///< m
  std::int64_t leads() const;         ///< R

  /// The images that the model takes: [b, C, H, W] -> [b m, C, H, W], the members of a sample side by side,
  /// each with noise of its own, drawn from (train.seed, epoch, sample, member, lead): alike on any mesh. The
  /// same images where M = 1.
  at::Tensor inputs(const Batch& batch) const;
  /// What the model takes for the next forecast of a rollout, of its `forecasts` [b m, C, H, W] float32, with
  /// `lead` of them made: members add noise again.
  at::Tensor next_inputs(const at::Tensor& forecasts, const Batch& batch, std::int64_t lead) const;
  /// The loss of the micro-batch, a scalar, by the whole model: R forecasts, each from the one before, to
  /// which members add noise again. Error (exit code 1) without R - 1 later targets.
  at::Tensor loss(const FusedVit& model, const Batch& batch) const;
  /// The loss of the last stage's forecasts [b m, C, H, W] of `inputs`, with R = 1.
  at::Tensor loss_of(const at::Tensor& forecasts, const Batch& batch) const;

  /// All members of an ensemble, in their order: [b m, C, H, W] of each model -> [M, b, C, H, W] float32.
  /// Backward takes the own members' gradient, times the number of models: each has a part of the ensemble's
  /// gradient, and gradients are averaged over all models.
  at::Tensor all_members(const at::Tensor& forecasts) const;

  /// What all_members sent so far, and how long the host stood still for it; on a CUDA device it does not.
  CommCounts counts() const;
  std::int64_t waited_us() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;  ///< null = plain
};

/// Almost fair CRPS (Lang et al. 2024, AIFS-CRPS), the mean over all values of
///     1/M sum_j |x_j - y|  -  (1 - eps) / (2 M (M - 1)) sum_j sum_k |x_j - x_k|,  eps = (1 - alpha) / M,
/// of forecasts [M, ...] against `target` [...]; alpha = 1: fair. In the type of its arguments. Memory beside
/// them is that of the forecasts, whatever M is. Error (exit code 1) for fewer than two members.
at::Tensor almost_fair_crps(const at::Tensor& forecasts, const at::Tensor& target, double alpha);

}  // namespace isobar
