#pragma once
// The plain vision transformer that forecasts the weather one step ahead.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "formula/vit_counts.h"
#include "model/layers.h"
#include "model/parameters.h"

namespace isobar {

/// Blocks that one rank has of a model cut by depth, and whether what stands in front of the first block
/// (pos_embed, patch_embed) and behind the last one (norm, head) is with them.
struct ModelStage {
  std::int64_t first_block = 0;
  std::int64_t end_block = 0;
  bool embeds = true;
  bool forecasts = true;
};

class Vit {
 public:
  /// Declares all parameters in `parameters`, in the order of the tutorial's state_dict. `shape` must be
  /// valid: height and width multiples of patch, embed a multiple of heads.
  /// `ranks` share the blocks; with shared tokens only FusedVit can compute what is declared here.
  /// shape.buffers_mb MiB of constant buffers, "constants.0" and so on, are declared beside it, which nothing
  /// reads: they stand for the masks and grids of larger models.
  /// `held`: stages, rising, whose parameters alone are declared, by the names that they have in the whole
  /// model; none = all of it. Only FusedVit can compute a part.
  Vit(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks = {},
      const std::vector<ModelStage>& held = {});

  /// [B, C, H, W] -> [B, C, H, W], normalised units: tokens = patches + positions, blocks, norm, head,
  /// un-patch.
  at::Tensor operator()(const at::Tensor& image) const;

  const VitShape& shape() const { return shape_; }
  const std::vector<ModelStage>& held() const { return held_; }  ///< one that is all of it, or parts
  bool is_whole() const { return held_.front().embeds && held_.front().forecasts; }

 private:
  VitShape shape_;
  std::vector<ModelStage> held_;  ///< at least one
  at::Tensor pos_embed_;          ///< [1, N, E]
  std::optional<PatchEmbed> patch_embed_;
  std::vector<Block> blocks_;
  std::optional<Norm> norm_;
  std::optional<Linear> head_;  ///< E -> C P P, no bias
};

}  // namespace isobar
