#include "model/vit.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "device/operator_watch.h"

namespace isobar {
namespace {

std::vector<ModelStage> stages_of(const std::vector<ModelStage>& held, const VitShape& shape) {
  if (held.empty()) return {{.end_block = shape.depth}};
  return held;
}

template <bool ModelStage::*Has>
bool one_of(const std::vector<ModelStage>& held) {
  return std::any_of(held.begin(), held.end(), [](const ModelStage& stage) { return stage.*Has; });
}

at::Tensor make_positions(Parameters& parameters, const VitShape& shape, bool shares_tokens) {
  return parameters.add({.name = "pos_embed",
                         .full_shape = {1, shape.tokens(), shape.embed},
                         .init = Init::truncated_normal,
                         .sums_over_tp = shares_tokens});
}

std::vector<Block> make_blocks(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks,
                               const std::vector<ModelStage>& held) {
  std::vector<Block> blocks;
  for (const ModelStage& stage : held)
    for (std::int64_t i = stage.first_block; i < stage.end_block; ++i)
      blocks.emplace_back(parameters, fmt::format("blocks.{}", i), shape.embed, shape.heads, ranks,
                          shape.norm_eps, shape.batch_norm);
  return blocks;
}

void add_constants(Parameters& parameters, double mebibytes) {
  constexpr std::int64_t kTensors = 4;
  const auto values = static_cast<std::int64_t>(mebibytes * (1 << 20) / sizeof(float));
  for (std::int64_t i = 0; i < kTensors && values > 0; ++i) {
    const std::int64_t share = values * (i + 1) / kTensors - values * i / kTensors;
    parameters.add_buffer(fmt::format("constants.{}", i), {share}, 1, /*saved=*/false);
  }
}

}  // namespace

Vit::Vit(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks,
         const std::vector<ModelStage>& held)
    : shape_(shape), held_(stages_of(held, shape)) {
  if (one_of<&ModelStage::embeds>(held_)) {
    pos_embed_ = make_positions(parameters, shape, ranks.shares_tokens());
    patch_embed_.emplace(parameters, "patch_embed.proj", shape.channels, shape.patch, shape.embed, ranks);
  }
  blocks_ = make_blocks(parameters, shape, ranks, held_);
  if (one_of<&ModelStage::forecasts>(held_)) {
    norm_.emplace(parameters, "norm", shape.embed, ranks, shape.norm_eps, shape.batch_norm);
    head_.emplace(parameters, "head", shape.embed, shape.channels * shape.patch * shape.patch,
                  /*has_bias=*/false);
  }
  add_constants(parameters, shape.buffers_mb);
}

at::Tensor Vit::operator()(const at::Tensor& image) const {
  if (!is_whole())
    throw Error("this process has stages of the model, which forecast in turn", "Vit",
                "Pipeline::forecast asks all of them", Exit::failed);
  const ModuleScope scope("vit");
  at::Tensor tokens = (*patch_embed_)(image) + pos_embed_;
  for (const Block& block : blocks_) tokens = block(tokens);
  return unpatch((*head_)((*norm_)(tokens)), shape_);
}

}  // namespace isobar
