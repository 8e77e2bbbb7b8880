#pragma once
// The plain vision transformer that forecasts the weather one step ahead.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "formula/vit_counts.h"
#include "model/layers.h"
#include "model/parameters.h"

namespace isobar {

class Vit {
 public:
  /// Declares all parameters in `parameters`, in the order of the tutorial's state_dict. `shape` must be
  /// valid: height and width multiples of patch, embed a multiple of heads.
  /// `ranks` share the blocks; with shared tokens only FusedVit can compute what is declared here.
  /// shape.buffers_mb MiB of constant buffers, "constants.0" and so on, are declared beside it, which nothing
  /// reads: they stand for the masks and grids of larger models.
  Vit(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks = {});

  /// [B, C, H, W] -> [B, C, H, W], normalised units: tokens = patches + positions, blocks, norm, head,
  /// un-patch.
  at::Tensor operator()(const at::Tensor& image) const;

  const VitShape& shape() const { return shape_; }

 private:
  VitShape shape_;
  at::Tensor pos_embed_;  ///< [1, N, E]
  PatchEmbed patch_embed_;
  std::vector<Block> blocks_;
  Norm norm_;
  Linear head_;  ///< E -> C P P, no bias
};

}  // namespace isobar
