#pragma once
// The vision transformer with its element-wise work fused, each fusion chosen by name. The same function of
// the same parameters as Vit, with fewer passes over memory. Activations have autocast's type where autocast
// is on, the residual stream and the parameters stay float32.
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "config/config.h"
#include "fused/functions.h"
#include "model/parameters.h"
#include "model/vit.h"

namespace isobar {

/// The parameters of a linear layer; `bias` is undefined for none.
struct LinearLeaves {
  at::Tensor weight, bias;
  std::string name;  ///< its module: what the parameters' names begin with
};

struct NormLeaves {
  at::Tensor weight, bias;
  RunningMoments running;  ///< moments of a norm over the batch
  std::string name;
};

struct BlockLeaves {
  NormLeaves norm1, norm2;
  LinearLeaves qkv;  ///< [3E, E] and [3E] over those of q, k and v, with fusion.qkv
  LinearLeaves q, k, v, proj, fc1, fc2;
  std::string attention_name, mlp_name;
};

class FusedVit {
 public:
  /// Declares the parameters of Vit, in its order. `attention` is a value of model.attention, one that runs
  /// here (model/attention_choice.h). With no fusion of the model on, forecast, loss and gradients are Vit's
  /// to the bit. Norms over the batch are never fused with the sums before them, whatever
  /// fusion.residual_norm is. `parameters` outlives this.
  /// `ranks` share each block (model/tensor_parallel.h).
  FusedVit(Parameters& parameters, const VitShape& shape, const FusionConfig& fusion, AttentionKind attention,
           const TensorParallel& ranks = {});

  /// The forecast, [B, C, H, W] -> [B, C, H, W].
  at::Tensor operator()(const at::Tensor& image) const;

  /// relative_l2 of the forecast and `target` [B, C, H, W], a scalar; with fusion.head_loss the forecast is
  /// never an image.
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const;

  const VitShape& shape() const { return plain_.shape(); }

 private:
  class Pass;

  bool fuses() const;

  const Parameters* parameters_;
  FusionConfig fusion_;
  AttentionKind attention_;
  TensorParallel ranks_;
  Vit plain_;
  LinearLeaves patch_embed_, head_;
  at::Tensor positions_;  ///< [1, N, E]
  std::vector<BlockLeaves> blocks_;
  NormLeaves norm_;
};

}  // namespace isobar
