#include "run/measure_products.h"

#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include "model/layers.h"
#include "run/made_graph.h"

namespace isobar {

RateAt measure_gemm(const TokenSize& size, std::int64_t depth, AmpMode mode, const Repeats& repeats) {
  Parameters parameters;
  std::vector<Linear> layers;
  for (std::int64_t i = 0; i < depth; ++i) {
    const Block block(parameters, fmt::format("blocks.{}", i), size.embed, size.heads);
    const Attention& attention = block.attention;
    layers.insert(layers.end(),
                  {attention.q, attention.k, attention.v, attention.proj, block.mlp.fc1, block.mlp.fc2});
  }
  parameters.materialise(/*seed=*/1, c10::Device(c10::kCPU));
  MadeGraph graph;
  graph.adds_up = true;
  for (const Linear& layer : layers)
    graph.leaves.push_back(made_leaf({size.batch, size.tokens, layer.weight.size(1)}, activation_type(mode)));
  graph.forward = [&] {
    std::vector<at::Tensor> out;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      graph.leaves[i].mutable_grad().reset();  // activations keep none
      out.push_back(layers[i](graph.leaves[i]));
    }
    return out;
  };
  const double operations = 3 * 24 * static_cast<double>(depth * size.embed) * size.values();
  const double time_us = time_passes(graph, mode, repeats).total_us();
  return {size.values(), rate_per_s(operations, time_us)};
}

double measure_patch(const VitShape& shape, std::int64_t batch, AmpMode mode, const Repeats& repeats) {
  Parameters parameters;
  const PatchEmbed patches(parameters, "patch_embed", shape.channels, shape.patch, shape.embed);
  parameters.materialise(/*seed=*/1, c10::Device(c10::kCPU));
  const at::Tensor image = at::randn({batch, shape.channels, shape.height, shape.width});
  MadeGraph graph;
  graph.adds_up = true;
  graph.forward = [&]() -> std::vector<at::Tensor> { return {patches(image)}; };
  const double operations = 2 * static_cast<double>(batch) * count_forward_flops(shape).patch;
  return rate_per_s(operations, time_passes(graph, mode, repeats).total_us());
}

AttentionRateAt measure_attention(const TokenSize& size, AmpMode mode, const Repeats& repeats) {
  MadeGraph graph;
  for (int i = 0; i < 3; ++i)
    graph.leaves.push_back(made_leaf({size.batch, size.tokens, size.embed}, activation_type(mode)));
  graph.forward = [&]() -> std::vector<at::Tensor> {
    return {mix_tokens(graph.leaves[0], graph.leaves[1], graph.leaves[2], size.heads)};
  };
  const double operations = 4 * static_cast<double>(size.tokens) * size.values();
  const PassTimes times = time_passes(graph, mode, repeats);
  const auto tokens = static_cast<double>(size.tokens);
  return {{tokens, rate_per_s(operations, times.forward_us)},
          {tokens, rate_per_s(2.5 * operations, times.backward_us)}};
}

}  // namespace isobar
