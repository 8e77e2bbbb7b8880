#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cmath>
#include <utility>

#include "device/autocast_state.h"
#include "model/vit.h"
#include "support/catch.h"
#include "support/tolerances.h"
// below all
#include "support/claim_macros.h"

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

namespace {

/// What PyTorch's page of BatchNorm1d says, in double precision.
struct PlainBatchNorm {
  at::Tensor mean, variance;  ///< running

  at::Tensor operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    const at::Tensor own_mean = rows.mean(0), own_variance = (rows - own_mean).square().mean(0);
    const auto count = static_cast<double>(rows.size(0));
    mean = mean * 0.9 + own_mean.detach() * 0.1;
    variance = variance * 0.9 + own_variance.detach() * (count / (count - 1)) * 0.1;
    return (x - own_mean) / (own_variance + eps).sqrt() * weight + bias;
  }
};

}  // namespace

TEST_CASE("a norm over the batch takes all its tokens in training, and running moments in validation") {
  Parameters parameters;
  const Norm norm(parameters, "norm", 6, {}, 1e-3, /*over_batch=*/true);
  parameters.materialise(5, at::kCPU);
  REQUIRE(parameters.buffers().size() == 2);
  CHECK(parameters.buffers()[0].name == "norm.running_mean");
  CHECK(parameters.buffers()[1].name == "norm.running_var");
  norm.weight.detach().copy_(at::randn({6}));
  norm.bias.detach().copy_(at::randn({6}));
  const void* const place = norm.running.mean.const_data_ptr();
  PlainBatchNorm plain{at::zeros({6}, at::kDouble), at::ones({6}, at::kDouble)};
  for (int step = 0; step < 3; ++step) {
    const at::Tensor x = (at::randn({2, 5, 6}) * 3 + step).requires_grad_();
    const at::Tensor exact_x = x.detach().to(at::kDouble).requires_grad_();
    const at::Tensor cotangent = at::randn({2, 5, 6});
    parameters.zero_gradients();
    const at::Tensor y = norm(x);
    y.backward(cotangent);
    const at::Tensor weight = norm.weight.detach().to(at::kDouble).requires_grad_();
    const at::Tensor bias = norm.bias.detach().to(at::kDouble).requires_grad_();
    const at::Tensor expected = plain(exact_x, weight, bias, 1e-3);
    expected.backward(cotangent.to(at::kDouble));
    CHECK(difference(y.detach(), expected.detach()) <= 1e-5 * largest(expected));
    CHECK(difference(x.grad(), exact_x.grad()) <= 1e-5 * largest(exact_x.grad()));
    CHECK(difference(norm.weight.grad(), weight.grad()) <= 1e-5 * largest(weight.grad()));
    CHECK(difference(norm.bias.grad(), bias.grad()) <= 1e-5 * largest(bias.grad()));
    CHECK(difference(norm.running.mean, plain.mean) <= 1e-5 * largest(plain.mean));
    CHECK(difference(norm.running.variance, plain.variance) <= 1e-5 * largest(plain.variance));
    CHECK(norm.running.mean.const_data_ptr() == place);
  }
  const at::NoGradGuard validation;
  const at::Tensor x = at::randn({1, 3, 6});
  const at::Tensor mean = norm.running.mean.clone();
  const at::Tensor expected =
      (x - norm.running.mean) / (norm.running.variance + 1e-3).sqrt() * norm.weight + norm.bias;
  CHECK(difference(norm(x), expected) <= 1e-5 * largest(expected));
  CHECK(at::equal(norm.running.mean, mean));
}

TEST_CASE("a norm over each token has no buffers") {
  Parameters parameters;
  const Norm norm(parameters, "norm", 6);
  CHECK(parameters.buffers().empty());
  CHECK_FALSE(norm.running.mean.defined());
}

TEST_CASE("constant buffers are as large as asked for, whatever divides it") {
  for (const double mebibytes : {0.0, 0.01, 1.0}) {
    Parameters parameters;
    const Vit model(parameters, {.height = 8,
                                 .width = 16,
                                 .channels = 2,
                                 .patch = 4,
                                 .embed = 24,
                                 .depth = 1,
                                 .heads = 2,
                                 .buffers_mb = mebibytes});
    std::int64_t values = 0;
    for (const Buffer& buffer : parameters.buffers()) {
      values += buffer.tensor.numel();
      CHECK_FALSE(buffer.saved);
    }
    CHECK(values == static_cast<std::int64_t>(mebibytes * (1 << 18)));
    CHECK(parameters.buffers().size() == (mebibytes > 0 ? 4 : 0));
  }
}
