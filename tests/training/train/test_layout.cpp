// The flat buffers laid out anew: nothing but places changes.
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

#include "support/catch.h"
#include "support/errors.h"
#include "support/named.h"
#include "train/sync_world.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

std::vector<std::size_t> reversed(const Parameters& parameters) {
  std::vector<std::size_t> out(parameters.leaves().size());
  std::iota(out.rbegin(), out.rend(), std::size_t{0});
  return out;
}

}  // namespace

TEST_CASE("a new layout keeps values, gradients and what follows them, and the leaves of the model") {
  FusedModel model(kOddVit, FusionConfig{});
  Parameters& parameters = model.parameters;
  const at::Tensor image = made_up_fields(kOddVit, 2, 1);
  const at::Tensor target = made_up_fields(kOddVit, 2, 2);
  const at::Tensor loss = loss_and_gradients(model, AmpMode::none, image, target);
  const at::Tensor moments = parameters.gradients() * 3;
  parameters.follow(moments);
  const std::string values = bits_of(parameters);
  const std::string gradients = bits_of(parameters, true);
  const void* const place = parameters.values().const_data_ptr();
  const std::int64_t length = parameters.values().numel();

  parameters.lay_out_again(reversed(parameters));
  CHECK(parameters.layout_version() == 1);
  CHECK((bits_of(parameters) == values));
  CHECK((bits_of(parameters, true) == gradients));
  CHECK(parameters.values().const_data_ptr() == place);
  CHECK(parameters.values().numel() == length);
  CHECK(at::equal(moments, parameters.gradients() * 3));
  const std::vector<ParameterLeaf> leaves = parameters.leaves();
  CHECK(leaves.back().flat_begin == 0);
  std::int64_t last_begin = length;
  for (const ParameterLeaf& leaf : leaves) {  // each before the one that was declared before it
    CHECK(leaf.flat_begin % 16 == 0);
    CHECK(leaf.flat_begin + leaf.tensor.numel() <= last_begin);
    last_begin = leaf.flat_begin;
    CHECK(leaf.tensor.const_data_ptr<float>() ==
          parameters.values().const_data_ptr<float>() + leaf.flat_begin);
    CHECK(leaf.tensor.grad().const_data_ptr<float>() ==
          parameters.gradients().const_data_ptr<float>() + leaf.flat_begin);
  }
  CHECK(at::equal(loss_and_gradients(model, AmpMode::none, image, target), loss));
  CHECK((bits_of(parameters, true) == gradients));
}

TEST_CASE("what follows is let go with its last owner, and an order that is none is refused") {
  PlainModel model(kOddVit);
  model.parameters.follow(at::zeros_like(model.parameters.values()));
  model.parameters.lay_out_again(reversed(model.parameters));
  std::vector<std::size_t> twice = reversed(model.parameters);
  twice[0] = twice[1];
  CHECK_THAT(failure_of([&] { model.parameters.lay_out_again(twice); }), says("each of them once"));
  CHECK_THAT(failure_of([&] { model.parameters.lay_out_again({0}); }), says("each of them once"));
  CHECK(model.parameters.layout_version() == 1);
}

TEST_CASE("every form of Adam takes its moments along") {
  const at::Tensor image = made_up_fields(kOddVit, 2, 1);
  const at::Tensor target = made_up_fields(kOddVit, 2, 2);
  for (const char* const kernel : {"own", "libtorch", "plain"}) {
    for (const bool norm : {true, false}) {
      INFO(kernel << ", fused norm " << norm);
      FusionConfig fusion;
      fusion.adam = std::string(kernel) != "plain";
      fusion.grad_norm = norm;
      OptimConfig optim;
      if (fusion.adam) optim.kernel = testing::named<AdamKernel>(kernel);
      std::vector<std::string> ends;
      for (const bool moves : {false, true}) {
        FusedModel model(kOddVit, fusion);
        FusedAdam adam(model.parameters, optim, fusion);
        GradScaler scaler(AmpConfig{}, at::kCPU);
        for (int step = 0; step < 4; ++step) {
          if (moves && step == 2) model.parameters.lay_out_again(reversed(model.parameters));
          loss_and_gradients(model, AmpMode::none, image, target);
          adam.step(1e-3, scaler);
        }
        ends.push_back(bits_of(model.parameters));
      }
      CHECK((ends[0] == ends[1]));
    }
  }
}
