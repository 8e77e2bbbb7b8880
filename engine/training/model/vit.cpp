#include "model/vit.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include "device/operator_watch.h"

namespace isobar {
namespace {

std::vector<Block> make_blocks(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks) {
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < shape.depth; ++i) {
    blocks.emplace_back(parameters, fmt::format("blocks.{}", i), shape.embed, shape.heads, ranks,
                        shape.norm_eps, shape.batch_norm);
  }
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

Vit::Vit(Parameters& parameters, const VitShape& shape, const TensorParallel& ranks)
    : shape_(shape),
      pos_embed_(parameters.add({.name = "pos_embed",
                                 .full_shape = {1, shape.tokens(), shape.embed},
                                 .init = Init::truncated_normal,
                                 .sums_over_tp = ranks.shares_tokens()})),
      patch_embed_(parameters, "patch_embed.proj", shape.channels, shape.patch, shape.embed, ranks),
      blocks_(make_blocks(parameters, shape, ranks)),
      norm_(parameters, "norm", shape.embed, ranks, shape.norm_eps, shape.batch_norm),
      head_(parameters, "head", shape.embed, shape.channels * shape.patch * shape.patch, /*has_bias=*/false) {
  add_constants(parameters, shape.buffers_mb);
}

at::Tensor Vit::operator()(const at::Tensor& image) const {
  const ModuleScope scope("vit");
  at::Tensor tokens = patch_embed_(image) + pos_embed_;
  for (const Block& block : blocks_) tokens = block(tokens);
  return unpatch(head_(norm_(tokens)), shape_);
}

}  // namespace isobar
