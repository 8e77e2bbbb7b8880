// The fused operations of autograd against the plain chain in double precision.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <functional>

#include "device/autograd_calls.h"
#include "fused/functions.h"
#include "model/layers.h"
#include "model/relative_l2.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerances.h"
// below all
#include "support/claim_macros.h"

using namespace isobar;

namespace {

using Tensors = std::vector<at::Tensor>;
using Chain = std::function<Tensors(const Tensors&)>;

/// A unit in the last place of the type, relative.
double unit(at::ScalarType type) { return type == at::kFloat ? 1.2e-7 : type == at::kHalf ? 9.8e-4 : 7.9e-3; }

struct Outcome {
  Tensors outputs, gradients;
};

/// Outputs, and gradients of sum over outputs of (output . its own random direction).
Outcome outcome(const Chain& chain, const Tensors& inputs, at::ScalarType as) {
  Tensors leaves;
  for (const at::Tensor& input : inputs) {
    const bool to_double = as == at::kDouble;
    leaves.push_back((to_double ? input.to(at::kDouble) : input.clone()).set_requires_grad(true));
  }
  Outcome out{chain(leaves), {}};
  Tensors directions;
  for (std::size_t i = 0; i < out.outputs.size(); ++i) {
    const at::Tensor& value = out.outputs[i];
    at::manual_seed(50 + i);
    // Of the least precise type that takes part, so that both chains get the same.
    directions.push_back(at::randn(value.sizes()).to(at::kBFloat16).to(value.scalar_type()));
  }
  torch::autograd::backward(out.outputs, directions, std::nullopt, /*create_graph=*/false, {});
  for (const at::Tensor& leaf : leaves) out.gradients.push_back(leaf.grad());
  return out;
}

/// `fused` of `inputs` (each of its own type) against `plain` of the same values in double precision: within
/// `ulps` units of the type in the last place of the largest value.
void check_same(const Chain& fused, const Chain& plain, const Tensors& inputs, double ulps,
                at::ScalarType type) {
  const Outcome ours = outcome(fused, inputs, type);
  const Outcome exact = outcome(plain, inputs, at::kDouble);
  const auto compare = [&](const char* kind, const Tensors& a, const Tensors& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      INFO(kind << " " << i << ", " << toString(type));
      REQUIRE(a[i].sizes() == b[i].sizes());
      CHECK(difference(a[i].to(at::kDouble), b[i]) <= ulps * unit(type) * std::max(1.0, largest(b[i])));
    }
  };
  compare("output", ours.outputs, exact.outputs);
  compare("gradient", ours.gradients, exact.gradients);
}

const std::vector<at::ScalarType> kTypes = {at::kFloat, at::kHalf, at::kBFloat16};

at::Tensor random(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  return at::randn(shape).to(type);
}

}  // namespace

TEST_CASE("bias and GELU, forward and backward") {
  for (const at::ScalarType type : kTypes) {
    check_same([](const Tensors& t) -> Tensors { return {fused_bias_gelu(t[0], t[1])}; },
               [](const Tensors& t) -> Tensors { return {at::gelu(t[0] + t[1])}; },
               {random({37, 21}, type), random({21})}, 16, type);
  }
}

TEST_CASE("residual and norm, forward and backward, with both gradients of the stream") {
  for (const at::ScalarType type : kTypes) {
    const Tensors inputs = {random({37, 21}), random({37, 21}, type), random({21}), random({21}),
                            random({21})};
    const auto fused = [](const Tensors& t) -> Tensors {
      const Normed out = fused_residual_norm(t[0], t[1], t[2], {t[3], t[4]});
      return {out.sum, out.y};
    };
    const auto plain = [](const Tensors& t) -> Tensors {
      const at::Tensor sum = t[0] + t[1] + t[2];
      return {sum, at::layer_norm(sum, {21}, t[3], t[4], 1e-6)};
    };
    check_same(fused, plain, inputs, 40, type);
    // The last norm of a model: nobody goes on with the sum.
    const auto fused_y = [&](const Tensors& t) -> Tensors { return {fused(t)[1]}; };
    const auto plain_y = [&](const Tensors& t) -> Tensors { return {plain(t)[1]}; };
    check_same(fused_y, plain_y, inputs, 40, type);
    // And nobody looks at the norm.
    const auto fused_sum = [&](const Tensors& t) -> Tensors { return {fused(t)[0] + 0 * fused(t)[1].sum()}; };
    const auto plain_sum = [&](const Tensors& t) -> Tensors { return {plain(t)[0] + 0 * plain(t)[1].sum()}; };
    check_same(fused_sum, plain_sum, inputs, 40, type);
  }
}

TEST_CASE("the first norm, whose input goes on as the stream") {
  for (const at::ScalarType type : kTypes) {
    check_same(
        [type](const Tensors& t) -> Tensors {
          const Normed out = fused_norm(t[0], {t[1], t[2]}, type);
          return {out.sum * 2, out.y};
        },
        [](const Tensors& t) -> Tensors {
          return {t[0] * 2, at::layer_norm(t[0], {21}, t[1], t[2], 1e-6)};
        },
        {random({37, 21}), random({21}), random({21})}, 40, type);
  }
}

TEST_CASE("head and loss, forward and backward") {
  const VitShape shape{.height = 6, .width = 10, .channels = 3, .patch = 2};
  const at::Tensor target = at::randn({2, shape.channels, shape.height, shape.width});
  for (const at::ScalarType type : kTypes) {
    check_same([&](const Tensors& t) -> Tensors { return {fused_head_loss(t[0], target, shape.patch)}; },
               [&](const Tensors& t) -> Tensors {
                 const at::Tensor image = unpatch(t[0].view({2, 15, 12}), shape);
                 return {relative_l2(image, target.to(at::kDouble))};
               },
               {random({30, 12}, type)}, 4, type);
  }
}

TEST_CASE("patches and positions, forward and backward") {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor patches = random({2 * 7, 11}, type);
    check_same(
        [&](const Tensors& t) -> Tensors {
          return {embed_patches(patches, {t[0], t[0].detach().to(type)}, t[1], t[2])};
        },
        [&](const Tensors& t) -> Tensors {
          return {(at::linear(patches.to(at::kDouble), t[0], t[1]).view({2, 7, 5}) + t[2]).view({14, 5})};
        },
        {random({5, 11}, type).to(at::kFloat), random({5}), random({1, 7, 5})}, 40, type);
  }
}

TEST_CASE("q, k and v are views, and their gradients come back in one piece") {
  const at::Tensor packed = at::randn({2 * 5, 3 * 12});
  check_same(
      [](const Tensors& t) -> Tensors {
        const auto parts = split_heads(t[0], 2, 3);
        return {parts[0], parts[1], parts[2]};
      },
      [](const Tensors& t) -> Tensors {
        const at::Tensor parts = t[0].view({2, 5, 3, 3, 4}).permute({2, 0, 3, 1, 4});
        return {parts[0], parts[1], parts[2]};
      },
      {packed}, 0, at::kFloat);
  const auto parts = split_heads(packed, 2, 3);
  CHECK(parts[1].sizes() == at::IntArrayRef({2, 3, 5, 4}));
  CHECK(parts[1].data_ptr() == packed.const_data_ptr<float>() + 12);
}

TEST_CASE("a linear layer gives the bits of the plain one and adds to the gradient where it lies") {
  const at::Tensor x = at::randn({33, 17});
  const auto leaf = [](const at::Tensor& values) { return values.clone().set_requires_grad(true); };
  const at::Tensor first_weight = at::randn({9, 17}), first_bias = at::randn({9}), dy = at::randn({33, 9});
  at::Tensor weight = leaf(first_weight), bias = leaf(first_bias), plain_x = leaf(x);
  const at::Tensor expected = at::linear(plain_x, weight, bias);
  expected.backward(dy);
  at::Tensor ours = leaf(first_weight), our_bias = leaf(first_bias), our_x = leaf(x);
  ours.mutable_grad() = at::zeros_like(first_weight);
  const void* const place = ours.grad().data_ptr();
  const at::Tensor y = linear(our_x, {ours, ours}, {our_bias, our_bias});
  CHECK(at::equal(y, expected));
  y.backward(dy);
  CHECK(ours.grad().data_ptr() == place);
  CHECK(at::equal(ours.grad(), weight.grad()));
  CHECK(at::equal(our_bias.grad(), bias.grad()));
  CHECK(at::equal(our_x.grad(), plain_x.grad()));
  linear(our_x, {ours, ours}, {our_bias, our_bias}).backward(dy);  // a second micro-batch adds
  CHECK(difference(ours.grad(), 2 * weight.grad()) <= 1e-5 * largest(weight.grad()));
}

TEST_CASE("a second derivative is refused in words") {
  const auto twice = [](const at::Tensor& y, const at::Tensor& x) {
    torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true,
                          /*allow_unused=*/false);
  };
  const at::Tensor x = at::randn({4, 6}).set_requires_grad(true);
  const at::Tensor v = at::randn({6}).set_requires_grad(true);
  CHECK_THAT(failure_of([&] { twice(fused_bias_gelu(x, v), x); }), says("twice") && says("bias_gelu"));
  CHECK_THAT(failure_of([&] { twice(fused_residual_norm(x, x, v, {v, v}).y, x); }), says("residual_norm"));
  CHECK_THAT(failure_of([&] { twice(fused_norm(x, {v, v}, at::kFloat).y, x); }), says("norm"));
  CHECK_THAT(failure_of([&] {
               twice(fused_head_loss(x, at::randn({1, 6, 2, 2}), 1), x);
             }),
             says("head_loss"));
  CHECK_THAT(failure_of([&] { twice(linear(x, {x, x}), x); }), says("linear"));
  CHECK_THAT(failure_of([&] { twice(split_heads(x, 2, 2)[0], x); }), says("split_heads"));
}

TEST_CASE("tensors that do not fit are refused with operation, name and reason") {
  const at::Tensor x = at::randn({4, 6}), v = at::randn({6});
  CHECK_THAT(failure_of([&] { bias_gelu(x, at::randn({5})); }),
             says("bias_gelu, bias") && says("[6]") && says("[5]"));
  CHECK_THAT(failure_of([&] { bias_gelu(x.to(at::kDouble), v); }), says("Double"));
  CHECK_THAT(failure_of([&] { bias_gelu(at::randn({6, 4}).t(), v); }), says("one behind the other"));
  CHECK_THAT(failure_of([&] { bias_gelu(at::randn({0, 6}), v); }), says("empty"));
  CHECK_THAT(failure_of([&] {
               residual_norm(x.to(at::kHalf), x, v, {v, v}, at::kHalf);
             }),
             says("residual_norm, x"));
  CHECK_THAT(failure_of([&] { residual_norm(x, {}, v, {v, v}, at::kFloat); }), says("no branch"));
  CHECK_THAT(failure_of([&] { residual_norm(x, at::randn({3, 6}), v, {v, v}, at::kFloat); }), says("[4, 6]"));
  CHECK_THAT(failure_of([&] { head_loss(x, at::randn({1, 6, 3, 2}), 2); }), says("patches of 2 x 2"));
  CHECK_THAT(failure_of([&] { head_loss(x, at::randn({1, 6, 4, 2}), 1); }), says("head_loss, tokens"));
  GradientNormPlace place(at::kCPU);
  CHECK_THAT(failure_of([&] { gradient_norm(x.to(at::kHalf), place); }), says("gradient_norm, gradients"));
  CHECK_THAT(failure_of([&] {
               adam({v, v, v, at::randn({7}), at::zeros({4})}, 0.9, 0.95, 1e-8);
             }),
             says("adam, square") && says("[7]"));
}
