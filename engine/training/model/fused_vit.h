#pragma once
// The vision transformer with its element-wise work fused, each fusion chosen by name. The same function of
// the same parameters as Vit, with fewer passes over memory. Activations have autocast's type where autocast
// is on, the residual stream and the parameters stay float32.
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "model/context_parallel.h"
#include "model/leaves.h"
#include "model/parameters.h"
#include "model/unit_watch.h"
#include "model/vit.h"

namespace isobar {

class FusedVit {
 public:
  /// Declares the parameters of Vit, in its order. `attention` is a value of model.attention, one that runs
  /// here (model/attention_choice.h). With no fusion of the model on, forecast, loss and gradients are Vit's
  /// to the bit. Norms over the batch are never fused with the sums before them, whatever
  /// fusion.residual_norm is. `parameters` outlives this.
  /// `ranks` share each block (model/tensor_parallel.h). `held`: stages, rising, whose parameters alone are
  /// declared; none = all of the model. Those of one part of it are computed by stage_forward and stage_loss.
  /// The ranks of `context` share the tokens of each sample between embedding and head; each has the
  /// forecast of all of them.
  FusedVit(Parameters& parameters, const VitShape& shape, const FusionConfig& fusion, AttentionKind attention,
           const TensorParallel& ranks = {}, const std::vector<ModelStage>& held = {},
           const ContextParallel& context = {});

  /// The forecast, [B, C, H, W] -> [B, C, H, W].
  at::Tensor operator()(const at::Tensor& image) const;

  /// relative_l2 of the forecast and `target` [B, C, H, W], a scalar; with fusion.head_loss the forecast is
  /// never an image.
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const;

  // A stage, the i-th of those held. The residual stream is [b N, E] float32, of the tokens that this rank
  // has. A stage ends with the plain sum behind its last block, whose norm is the next stage's: in all,
  // values and gradients are those of the whole model with fused norms, to the bit on a CPU. What is the
  // whole model is computed by the members above.
  /// [b, C, H, W] of the stage that embeds, else the stream behind the stage before -> the stream behind this
  /// one, or the forecast.
  at::Tensor stage_forward(std::size_t i, const at::Tensor& in) const;
  /// The stage that forecasts: relative_l2 against `target` [b, C, H, W].
  at::Tensor stage_loss(std::size_t i, const at::Tensor& in, const at::Tensor& target) const;
  const std::vector<ModelStage>& held() const { return plain_.held(); }
  /// Between `true` and `false` weights do not change, and passes share one 16-bit copy of them, which the
  /// first one makes.
  void share_cast(bool shares) const;

  /// From now on what `kind` names is computed again in backward instead of being kept, with `block` of
  /// `every` blocks together; bytes and operations: formula/recompute.h. Gradients are those of `none`, to
  /// the bit where operations give the same bits for the same values, as on a CPU. Norms go over each token.
  /// A graph must not outlive this. Under NoGradGuard nothing is kept anyway, and nothing changes.
  ///
  /// A block is a function of the residual stream and of its norm, which gives the stream behind attention
  /// and fc2's product; the sum of these two, and the norm of it, are left to what comes behind, which keeps
  /// that sum as every block's first norm does. So the first input is there already, the second one is its
  /// norm, and fc2's product need not be multiplied again.
  void checkpoint(CheckpointKind kind, std::int64_t every = 1);

  /// From now on a pass that is recorded sets this share of the values of each branch, attention's and the
  /// MLP's, to zero, and scales the others by 1 / (1 - share). A byte a value is kept, but for what is
  /// computed again. Drawn from the device's default generator. One rank has all of a layer.
  void dropout(double share) { dropout_ = share; }

  /// `watch`, which outlives this, is called around each unit of all passes from now on, by its number among
  /// model_units of the parameters that are held. Where blocks are
  /// computed again it is in backward: begin_forward of the first one behind begin_backward of the last.
  void watch_units(UnitWatch& watch) { watch_ = &watch; }

  const VitShape& shape() const { return plain_.shape(); }
  const TensorParallel& ranks() const { return ranks_; }
  const ContextParallel& context() const { return context_; }

 private:
  class Pass;

  bool fuses() const;
  at::Tensor cast_weights(at::ScalarType type) const;
  /// The head's outputs [B N, P P C] of the activations' type, or the stream behind the stage.
  at::Tensor tokens(const ModelStage& stage, const at::Tensor& in) const;
  at::Tensor unpatched(const at::Tensor& tokens) const;
  at::Tensor loss_of(const at::Tensor& tokens, const at::Tensor& target) const;  ///< with fusion.head_loss

  const Parameters* parameters_;
  FusionConfig fusion_;
  AttentionKind attention_;
  TensorParallel ranks_;
  ContextParallel context_;
  Vit plain_;
  LinearLeaves patch_embed_, head_;
  at::Tensor positions_;             ///< [1, N, E]
  std::vector<BlockLeaves> blocks_;  ///< all of the model; those that are not held are empty
  std::vector<std::size_t> units_;   ///< by unit of the whole model: its number among those held
  NormLeaves norm_;
  CheckpointKind checkpoint_ = CheckpointKind::none;
  std::int64_t every_ = 1;
  double dropout_ = 0;
  UnitWatch* watch_ = nullptr;
  mutable bool shares_cast_ = false;
  mutable at::Tensor cast_;  ///< all weights in 16 bits, between passes
};

}  // namespace isobar
