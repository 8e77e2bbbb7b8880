#pragma once
// A small model with made-up fields, for tests of fused forms against the plain one.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "model/fused_vit.h"
#include "model/vit.h"
#include "train/autocast.h"
#include "train/loss.h"

namespace isobar {

/// E E = 900 is no multiple of 16, so that joined weights are where alignment would otherwise put gaps.
inline constexpr VitShape kOddVit = {
    .height = 12, .width = 20, .channels = 3, .patch = 4, .embed = 30, .depth = 2, .heads = 3};

/// Norms over the batch, whose running means are buffers, and 10 KiB of constant ones.
constexpr VitShape with_buffers(VitShape shape) {
  shape.batch_norm = true;
  shape.buffers_mb = 10.0 / 1024;
  return shape;
}

inline constexpr FusionConfig kNoFusion = {.adam = false,
                                           .bias_gelu = false,
                                           .residual_norm = false,
                                           .qkv = false,
                                           .head_loss = false,
                                           .grad_norm = false};

/// Nothing, each fusion of the model alone, and all of them.
inline std::vector<std::pair<std::string, FusionConfig>> model_fusions() {
  std::vector<std::pair<std::string, FusionConfig>> out = {{"none", kNoFusion}};
  const std::vector<std::pair<std::string, bool FusionConfig::*>> keys = {
      {"bias_gelu", &FusionConfig::bias_gelu},
      {"residual_norm", &FusionConfig::residual_norm},
      {"qkv", &FusionConfig::qkv},
      {"head_loss", &FusionConfig::head_loss}};
  for (const auto& [name, key] : keys) {
    out.emplace_back(name, kNoFusion);
    out.back().second.*key = true;
  }
  out.emplace_back("all", FusionConfig{});
  return out;
}

/// Weights far enough from their small first values that every part of the model matters.
inline void spread(Parameters& parameters) {
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor values = parameter.tensor.detach();
    if (parameter.init == Init::truncated_normal) values.mul_(8);
    if (parameter.init == Init::ones || parameter.init == Init::zeros) {
      Parameter noise = parameter;
      noise.init = Init::truncated_normal;
      values.add_(initial_values(noise, 77), 5);
    }
  }
}

struct PlainModel {
  explicit PlainModel(const VitShape& shape) : vit(parameters, shape) { parameters.materialise(3, at::kCPU); }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const {
    return relative_l2(vit(image), target);
  }
  Parameters parameters;
  Vit vit;
};

struct FusedModel {
  FusedModel(const VitShape& shape, const FusionConfig& fusion,
             AttentionKind attention = AttentionKind::automatic)
      : vit(parameters, shape, fusion, attention) {
    parameters.materialise(3, at::kCPU);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const { return vit.loss(image, target); }
  Parameters parameters;
  FusedVit vit;
};

/// [samples, C, H, W], the same for the same seed.
inline at::Tensor made_up_fields(const VitShape& shape, std::int64_t samples, std::uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({samples, shape.channels, shape.height, shape.width});
}

/// Forward under autocast to `mode`, and backward; gradients are those of the parameters afterwards.
template <class Model>
at::Tensor loss_and_gradients(Model& model, AmpMode mode, const at::Tensor& image, const at::Tensor& target) {
  model.parameters.zero_gradients();
  Autocast autocast(mode, at::kCPU);
  const at::Tensor loss = model.loss(image, target);
  autocast.end();
  loss.backward();
  return loss.detach();
}

}  // namespace isobar
