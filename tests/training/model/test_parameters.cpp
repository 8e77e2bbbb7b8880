#include <ATen/TensorOperators.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include <cmath>

#include "formula/vit_counts.h"
#include "model/vit.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

constexpr VitShape kTiny = {
    .height = 16, .width = 24, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 2};

}  // namespace

TEST_CASE("names, shapes and order are those of the tutorial's state_dict") {
  Parameters parameters;
  const Vit model(parameters, kTiny);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters.all()) names.push_back(parameter.name);
  REQUIRE(names.size() == 16 * 2 + 6);
  const std::vector<std::string> first = {"pos_embed",
                                          "patch_embed.proj.weight",
                                          "patch_embed.proj.bias",
                                          "blocks.0.norm1.weight",
                                          "blocks.0.norm1.bias",
                                          "blocks.0.norm2.weight",
                                          "blocks.0.norm2.bias",
                                          "blocks.0.attn.q.weight",
                                          "blocks.0.attn.q.bias",
                                          "blocks.0.attn.k.weight",
                                          "blocks.0.attn.k.bias",
                                          "blocks.0.attn.v.weight",
                                          "blocks.0.attn.v.bias",
                                          "blocks.0.attn.proj.weight",
                                          "blocks.0.attn.proj.bias",
                                          "blocks.0.mlp.fc1.weight",
                                          "blocks.0.mlp.fc1.bias",
                                          "blocks.0.mlp.fc2.weight",
                                          "blocks.0.mlp.fc2.bias",
                                          "blocks.1.norm1.weight"};
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(names[i] == first[i]);
  CHECK(names[names.size() - 3] == "norm.weight");
  CHECK(names[names.size() - 2] == "norm.bias");
  CHECK(names.back() == "head.weight");
  CHECK(parameters.all()[0].tensor.sizes() == at::IntArrayRef({1, 24, 24}));
  CHECK(parameters.all()[1].tensor.sizes() == at::IntArrayRef({24, 3, 4, 4}));
  CHECK(parameters.all().back().tensor.sizes() == at::IntArrayRef({48, 24}));
  CHECK(count_of(parameters) == count_parameters(kTiny).total());
}

TEST_CASE("values and gradients are views of two flat buffers, and stay so") {
  Parameters parameters;
  const Vit model(parameters, kTiny);
  parameters.materialise(1, at::kCPU);
  parameters.gradients().fill_(3);
  for (const Parameter& parameter : parameters.all()) {
    CHECK(parameter.flat_begin % 16 == 0);
    CHECK(parameter.tensor.is_leaf());
    CHECK(parameter.tensor.data_ptr() == parameters.values().const_data_ptr<float>() + parameter.flat_begin);
    CHECK(parameter.tensor.grad().eq(3).all().item<bool>());
  }
  parameters.zero_gradients();
  at::Tensor loss = model(at::ones({1, 3, 16, 24})).square().sum();
  loss.backward();
  for (const Parameter& parameter : parameters.all()) {
    CHECK(parameter.tensor.grad().data_ptr() ==
          parameters.gradients().const_data_ptr<float>() + parameter.flat_begin);
  }
  CHECK(parameters.gradients().abs().sum().item<double>() > 0);
}

TEST_CASE("first values have the stated distributions") {
  Parameters parameters;
  const Vit model(
      parameters,
      {.height = 64, .width = 64, .channels = 20, .patch = 8, .embed = 96, .depth = 1, .heads = 2});
  parameters.materialise(1, at::kCPU);
  for (const Parameter& parameter : parameters.all()) {
    INFO(parameter.name);
    const at::Tensor& t = parameter.tensor;
    const auto n = static_cast<double>(t.numel());
    if (parameter.init == Init::zeros) CHECK(t.eq(0).all().item<bool>());
    if (parameter.init == Init::ones) CHECK(t.eq(1).all().item<bool>());
    if (parameter.init == Init::truncated_normal) {
      CHECK(std::fabs(t.mean().item<double>()) < 5 * 0.02 / std::sqrt(n));
      CHECK(t.std().item<double>() == Approx(0.02).epsilon(5 / std::sqrt(2 * n)));
      CHECK(t.abs().max().item<double>() > 0.05);
    }
    if (parameter.init == Init::fan_in_uniform) {
      const double bound = 1 / std::sqrt(20.0 * 8 * 8);
      CHECK(bound == Approx(0.02795).epsilon(1e-3));
      CHECK(t.abs().max().item<double>() <= bound);
      CHECK(t.std().item<double>() == Approx(bound / std::sqrt(3.0)).epsilon(5 / std::sqrt(n)));
    }
  }
}

TEST_CASE("first values depend on seed, name and full shape, not on the order of layers") {
  const ParameterSpec spec = {.name = "a.weight", .full_shape = {8, 6}, .init = Init::truncated_normal};
  Parameters one;
  one.add({.name = "other", .full_shape = {5}, .init = Init::truncated_normal});
  const at::Tensor late = one.add(spec);
  one.materialise(7, at::kCPU);
  Parameters two;
  const at::Tensor early = two.add(spec);
  two.materialise(7, at::kCPU);
  CHECK(at::equal(late, early));
  two.materialise(8, at::kCPU);
  CHECK_FALSE(at::equal(late, early));
}

TEST_CASE("shards of a parameter put together are the whole one") {
  for (const std::int64_t dim : {0, 1}) {
    std::vector<at::Tensor> parts;
    for (std::int64_t index = 0; index < 2; ++index) {
      const Parameter part = {
          {.name = "w", .full_shape = {8, 6}, .init = Init::truncated_normal, .shard = {dim, index, 2}},
          {},
          0};
      parts.push_back(initial_values(part, 3));
    }
    const Parameter whole = {{.name = "w", .full_shape = {8, 6}, .init = Init::truncated_normal}, {}, 0};
    CHECK(at::equal(at::concat(parts, dim), initial_values(whole, 3)));
  }
}

TEST_CASE("a name taken twice or a shard that does not divide is refused") {
  Parameters parameters;
  parameters.add({.name = "w", .full_shape = {4}});
  CHECK_THAT(error_of([&] { parameters.add({.name = "w", .full_shape = {4}}); }, Exit::failed),
             says("twice"));
  CHECK_THAT(error_of([&] {
               parameters.add({.name = "v", .full_shape = {5}, .shard = {0, 0, 2}});
             }),
             says("equal shards"));
}

TEST_CASE("joined parameters lie side by side, keep names and values, and share one leaf") {
  const std::int64_t embed = 30;  // 900 and 30 are no multiples of 16
  const auto declare = [&](Parameters& parameters) {
    for (const char* const name : {"q", "k", "v"}) {
      parameters.add({.name = std::string(name) + ".weight",
                      .full_shape = {embed, embed},
                      .init = Init::truncated_normal});
      parameters.add(
          {.name = std::string(name) + ".bias", .full_shape = {embed}, .init = Init::truncated_normal});
    }
    parameters.add({.name = "last", .full_shape = {7}, .init = Init::ones});
  };
  Parameters plain, joined;
  declare(plain);
  declare(joined);
  const at::Tensor weight = joined.join({"q.weight", "k.weight", "v.weight"});
  const at::Tensor bias = joined.join({"q.bias", "k.bias", "v.bias"});
  plain.materialise(4, at::kCPU);
  joined.materialise(4, at::kCPU);
  REQUIRE(weight.sizes() == at::IntArrayRef({90, 30}));
  REQUIRE(bias.sizes() == at::IntArrayRef({90}));
  CHECK(weight.is_leaf());
  std::vector<at::Tensor> weights, biases;
  for (std::size_t i = 0; i < plain.all().size(); ++i) {
    INFO(plain.all()[i].name);
    CHECK(plain.all()[i].name == joined.all()[i].name);
    CHECK(at::equal(plain.all()[i].tensor, joined.all()[i].tensor));
    if (i < 6) (i % 2 == 0 ? weights : biases).push_back(plain.all()[i].tensor);
  }
  CHECK(at::equal(weight, at::concat(weights)));
  CHECK(at::equal(bias, at::concat(biases)));
  CHECK(count_of(joined) == count_of(plain));
  CHECK(joined.gradients().numel() > count_of(joined));
  (weight.square().sum() + bias.sum()).backward();
  CHECK(at::equal(joined.find("k.weight").tensor.grad(), 2 * weight.narrow(0, 30, 30)));
  CHECK(joined.find("v.bias").tensor.grad().eq(1).all().item<bool>());
  CHECK(joined.find("last").tensor.grad().eq(0).all().item<bool>());
  CHECK(joined.gradients()[-1].item<float>() == 0);
}

TEST_CASE("parameters that cannot be joined are refused") {
  Parameters parameters;
  parameters.add({.name = "a", .full_shape = {4, 6}});
  parameters.add({.name = "b", .full_shape = {4, 5}});
  parameters.add({.name = "c", .full_shape = {2, 6}});
  CHECK_THAT(failure_of([&] { parameters.join({"a", "b"}); }), says("[4, 5]") && says("[4, 6]"));
  CHECK_THAT(failure_of([&] { parameters.join({"a", "z"}); }), says("no such parameter") && says("z"));
  CHECK_THAT(failure_of([&] { parameters.join({"a", "a"}); }), says("twice"));
  CHECK(parameters.join({"a", "c"}).sizes() == at::IntArrayRef({6, 6}));
  CHECK_THAT(failure_of([&] { parameters.join({"c"}); }), says("twice") && says("c"));
  parameters.materialise(1, at::kCPU);
  CHECK_THAT(failure_of([&] { parameters.join({"b"}); }), says("before"));
}

TEST_CASE("buffers get their values with the parameters, and keep no place among them") {
  Parameters parameters;
  const at::Tensor weight = parameters.add({.name = "weight", .full_shape = {4}});
  const at::Tensor mean = parameters.add_buffer("running_mean", {4}, 0);
  const at::Tensor mask = parameters.add_buffer("mask", {2, 3}, 1, /*saved=*/false);
  parameters.materialise(1, at::kCPU);
  CHECK(mean.eq(0).all().item<bool>());
  CHECK(mask.eq(1).all().item<bool>());
  CHECK_FALSE(mean.requires_grad());
  CHECK(count_of(parameters) == 4);
  REQUIRE(parameters.buffers().size() == 2);
  CHECK(parameters.buffers()[0].name == "running_mean");
  CHECK(parameters.buffers()[0].saved);
  CHECK_FALSE(parameters.buffers()[1].saved);
  CHECK(parameters.buffers()[1].tensor.data_ptr() == mask.data_ptr());
  at::Tensor(mean).fill_(5);
  parameters.lay_out_again({0});
  CHECK(mean.eq(5).all().item<bool>());
  parameters.materialise(1, at::kCPU);
  CHECK(mean.eq(0).all().item<bool>());
}

TEST_CASE("a name belongs to one parameter or one buffer") {
  Parameters parameters;
  parameters.add({.name = "norm.weight", .full_shape = {4}});
  parameters.add_buffer("norm.running_mean", {4}, 0);
  const auto twice = says("used twice");
  CHECK_THAT(failure_of([&] { parameters.add_buffer("norm.running_mean", {4}, 0); }),
             twice && says("norm.running_mean"));
  CHECK_THAT(failure_of([&] { parameters.add_buffer("norm.weight", {4}, 0); }), twice && says("norm.weight"));
  CHECK_THAT(failure_of([&] { parameters.add({.name = "norm.running_mean", .full_shape = {4}}); }), twice);
}
