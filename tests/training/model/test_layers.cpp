#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/softmax.h>

#include <array>
#include <cmath>
#include <utility>

#include "model/vit.h"
#include "support/catch.h"
#include "support/tolerances.h"

using namespace isobar;

TEST_CASE("un-patch puts outputs (p, q, c) where they belong") {
  const std::int64_t channels = 2, patch = 3, height = 6, width = 9;
  const at::Tensor tokens = at::arange(2 * 6 * 18).to(at::kFloat).view({2, 6, 18});
  const at::Tensor image =
      unpatch(tokens, {.height = height, .width = width, .channels = channels, .patch = patch});
  REQUIRE(image.sizes() == at::IntArrayRef({2, 2, 6, 9}));
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          const std::int64_t token = y / patch * 3 + x / patch;
          const std::int64_t output = (y % patch * patch + x % patch) * channels + c;
          REQUIRE(image[b][c][y][x].item<float>() == tokens[b][token][output].item<float>());
        }
      }
    }
  }
}

TEST_CASE("attention is softmax(q k^T / sqrt(head size)) v, head by head") {
  Parameters parameters;
  const Attention attention(parameters, "attn", 12, 3);
  parameters.materialise(5, at::kCPU);
  parameters.values().mul_(20);  // so that the softmax is far from uniform
  const at::Tensor x = at::randn({2, 7, 12});
  const at::Tensor q = attention.q(x), k = attention.k(x), v = attention.v(x);
  std::vector<at::Tensor> heads;
  at::Tensor mixed = at::zeros_like(q);
  for (std::int64_t h = 0; h < 3; ++h) {
    const auto part = [&](const at::Tensor& t) { return t.narrow(2, 4 * h, 4); };
    const at::Tensor scores = part(q).matmul(part(k).transpose(1, 2)) / std::sqrt(4.0);
    mixed.narrow(2, 4 * h, 4).copy_(scores.softmax(-1).matmul(part(v)));
  }
  const at::Tensor expected = attention.proj(mixed);
  CHECK(difference(attention(x), expected) <= 1e-5 * largest(expected));
}

TEST_CASE("patch embedding under autocast is what it is in fp32 but for its 16 bits, in all sizes") {
  // Of inputs and weights 8 bits stay in bf16 and 11 in fp16; the sums are float32.
  for (const auto& [type, tolerance] :
       {std::pair{at::kBFloat16, 1.0 / 128}, std::pair{at::kHalf, 1.0 / 1024}}) {
    for (const auto& [channels, patch, embed, height, width] :
         {std::array<std::int64_t, 5>{20, 8, 96, 48, 96},
          {20, 8, 384, 72, 144},
          {16, 4, 48, 16, 32},
          {3, 2, 24, 6, 10}}) {
      INFO(channels << " channels, patches of " << patch << ", " << at::toString(type));
      Parameters parameters;
      const PatchEmbed layer(parameters, "patch_embed.proj", channels, patch, embed);
      parameters.materialise(5, at::kCPU);
      const at::Tensor image = at::randn({2, channels, height, width});
      const at::Tensor expected = layer(image);
      at::autocast::set_autocast_dtype(at::kCPU, type);
      at::autocast::set_autocast_enabled(at::kCPU, true);
      const at::Tensor tokens = layer(image);
      at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(at::kCPU, false);
      CHECK(tokens.scalar_type() == type);
      REQUIRE(tokens.sizes() == expected.sizes());
      CHECK(difference(tokens.to(at::kFloat), expected) <= tolerance * largest(expected));
      const at::Tensor cotangent = at::randn_like(expected);
      expected.backward(cotangent);
      const at::Tensor gradient = parameters.gradients().clone();
      parameters.zero_gradients();
      tokens.backward(cotangent.to(type));
      CHECK(difference(parameters.gradients(), gradient) <= tolerance * largest(gradient));
    }
  }
}

TEST_CASE("patch embedding is a matrix product over each patch, tokens row by row") {
  Parameters parameters;
  const PatchEmbed embed(parameters, "patch_embed.proj", 2, 4, 6);
  parameters.materialise(5, at::kCPU);
  const at::Tensor image = at::randn({1, 2, 8, 12});
  const at::Tensor tokens = embed(image);
  REQUIRE(tokens.sizes() == at::IntArrayRef({1, 6, 6}));
  const at::Tensor patch =
      image[0].narrow(1, 4, 4).narrow(2, 8, 4).reshape({-1});  // row 1, column 2: token 5
  const at::Tensor expected = embed.weight.view({6, -1}).mv(patch) + embed.bias;
  CHECK(difference(tokens[0][5], expected) <= 1e-5 * largest(expected));
}

TEST_CASE("the model's gradient agrees with a central difference") {
  Parameters parameters;
  const Vit model(parameters,
                  {.height = 8, .width = 8, .channels = 2, .patch = 4, .embed = 8, .depth = 2, .heads = 2});
  parameters.materialise(9, at::kCPU);
  parameters.values().mul_(4);
  const at::Tensor image = at::randn({2, 2, 8, 8});
  const auto loss_at = [&] { return model(image).square().mean(); };
  loss_at().backward();
  const at::Tensor direction = parameters.gradients() / parameters.gradients().norm();
  const at::Tensor saved = parameters.values().clone();
  const double step = 3e-3;
  const auto moved = [&](double by) {
    parameters.values().copy_(saved + direction * by);
    return loss_at().item<double>();
  };
  const double slope = (moved(step) - moved(-step)) / (2 * step);
  CHECK(slope == Approx(parameters.gradients().norm().item<double>()).epsilon(5e-3));
}
