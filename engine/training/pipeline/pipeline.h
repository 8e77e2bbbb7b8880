#pragma once
// One model cut by depth over the ranks of a pipeline: its stages, the messages between them, and what is
// kept from a forward pass to its backward pass. What is done when is the schedule's (pipeline/schedule.h). b
// images of a micro-batch (m for each sample of an ensemble of which m members are here), N tokens, E embed:
// a message is the residual stream or its gradient, [b N, E] float32, 4 b N E bytes a boundary, micro-batch
// and direction (of the tokens that this rank has, with mesh.sequence_parallel or mesh.cp). Messages are not
// compared before they leave, with comm.check neither: both ends have compared the schedule. What is sent is
// kept until it has left: where a receiver is behind, these are more than one message for each neighbour and
// direction, at most all of a step.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "data/loader.h"
#include "model/fused_vit.h"
#include "pipeline/schedule.h"
#include "train/grad_scaler.h"
#include "train/objective.h"
#include "train/sync_figures.h"

namespace isobar {

/// The stages of the rank `ranks.rank()` of a pipeline, for FusedVit; all of the model in a group of one.
std::vector<ModelStage> stages_here(const Comm& ranks, const Config& config);

class Pipeline {
 public:
  /// `ranks` = run.group("pp"), rank i of it that of row i of the schedule; all of them call this. `model`
  /// has stages_here. Both outlive this. `objective` has the members of an ensemble, which all stages compute
  /// side by side, and the loss. Error (exit code 2) for a schedule that cannot run (check_schedule), or that
  /// splits backward where model.checkpoint computes again.
  Pipeline(const FusedVit& model, Comm& ranks, const Config& config, const Objective& objective = {});
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// This rank's row of the schedule.
  const std::vector<PipelineAction>& actions() const;

  /// In front of the first action of a step: `batch` is cut in train.accumulate micro-batches.
  void begin(const Batch& batch);
  /// What `action` works on: the micro-batch's images for F of the first stage, nothing for B or I of the
  /// last one and for W, else what the neighbour sent, which it waits for. Messages of one boundary come in
  /// the order in which their sender makes them, whatever the own order is.
  at::Tensor receive(const PipelineAction& action);
  /// F: the stream behind the stage; of the last stage the micro-batch's loss over m, a scalar. What backward
  /// needs is kept. Under autocast by amp.mode.
  at::Tensor forward(const PipelineAction& action, const at::Tensor& in);
  /// B or I: the gradient of the stage's input (undefined for the first stage) from that of its result; the
  /// last stage begins with scaler.scale(loss / m), or with run.fault = no_loss_scale with the whole loss. B
  /// adds the gradients of weights to .grad, I puts them off to W.
  at::Tensor backward(const PipelineAction& action, const at::Tensor& gradient, GradScaler& scaler);
  /// W: adds the gradients of weights that I put off.
  void weights(const PipelineAction& action);
  /// Whichever of the three `action` is.
  at::Tensor compute(const PipelineAction& action, const at::Tensor& in, GradScaler& scaler);
  /// Hands the result of `action` to its neighbour and returns at once; of no effect where none wants it.
  void send(const PipelineAction& action, const at::Tensor& out);
  /// Behind the last action: waits until what was sent has left. The loss of the whole batch, the mean of its
  /// micro-batches', float32 and equal on all ranks.
  at::Tensor finish();
  /// The step's pipe_*, what the model's context sent (context_figures), and in calls and wire_bytes its
  /// messages both ways and the loss's. Behind `finish` and all sums of gradients, once. pipe_us is from
  /// `begin` to the end of the last action; waits for ranks that share layers are not busy. On a CUDA device
  /// the host computes nothing: both times are 0, which is not known, and there are no spans of actions
  /// (track "pipeline").
  SyncFigures figures() const;

  /// The forecast of all stages, without gradients, on every rank: [B, C, H, W] -> [B, C, H, W], of the
  /// images as they are. Under autocast by amp.mode; float32 where it was sent.
  at::Tensor forecast(const at::Tensor& image);
  /// Each member's, with noise of its own, over all models of the ensemble: [M, B, C, H, W] float32 on
  /// every rank, of each forecast of a rollout (train.rollout).
  std::vector<at::Tensor> forecast_members(const Batch& batch);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace isobar
