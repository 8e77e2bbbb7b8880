// The guard of mixed precision: which types come out, and that nothing is left behind.
#include <ATen/ops/bmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <stdexcept>

#include "device/autocast_state.h"
#include "model/vit.h"
#include "support/catch.h"
#include "train/autocast.h"
#include "train/loss.h"
// below all
#include "support/claim_macros.h"

namespace isobar::test_autocast {

namespace ac = at::autocast;

namespace {

const c10::Device kCpu(c10::kCPU);

at::ScalarType type_of_product() { return at::bmm(at::ones({1, 4, 4}), at::ones({1, 4, 4})).scalar_type(); }

struct Weight {
  at::Tensor values = at::randn({8, 8}).requires_grad_();
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, values); }
};

}  // namespace

TEST_CASE("inside, products take 16 bits and norms and the loss stay float32; outside nothing does") {
  for (const auto& [mode, type] :
       {std::pair{AmpMode::bf16, at::kBFloat16}, std::pair{AmpMode::fp16, at::kHalf}}) {
    INFO(name_of(mode));
    const at::Tensor x = at::randn({2, 3, 8});
    const Weight weight;
    at::Tensor loss;
    {
      const Autocast autocast(mode, kCpu);
      CHECK(weight(x).scalar_type() == type);
      CHECK(type_of_product() == type);
      const at::Tensor heads = at::randn({2, 1, 3, 8});
      CHECK(at::scaled_dot_product_attention(heads, heads, heads).scalar_type() == type);
      CHECK(at::layer_norm(x, {8}).scalar_type() == at::kFloat);
      CHECK(at::gelu(x).scalar_type() == at::kFloat);
      CHECK((x + weight(x)).scalar_type() == at::kFloat);  // the residual stream
      loss = relative_l2(weight(x), x);
    }
    CHECK(loss.scalar_type() == at::kFloat);
    CHECK(type_of_product() == at::kFloat);
    CHECK_FALSE(ac::is_autocast_enabled(at::kCPU));
    loss.backward();
    CHECK(weight.values.grad().scalar_type() == at::kFloat);
    CHECK(weight.values.scalar_type() == at::kFloat);
  }
}

TEST_CASE("other modes change nothing") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::tf32, AmpMode::automatic}) {
    const Autocast autocast(mode, kCpu);
    CHECK_FALSE(ac::is_autocast_enabled(at::kCPU));
    CHECK(type_of_product() == at::kFloat);
  }
  const Autocast outer(AmpMode::bf16, kCpu);
  const Autocast inner(AmpMode::none, kCpu);
  CHECK(type_of_product() == at::kBFloat16);
}

TEST_CASE("guards nest, with another type too, and each gives back what it found") {
  const Weight weight;
  const at::Tensor x = at::ones({2, 8});
  {
    const Autocast outer(AmpMode::bf16, kCpu);
    CHECK(weight(x).scalar_type() == at::kBFloat16);  // the cast weight is kept from here on
    {
      const Autocast same(AmpMode::bf16, kCpu);
      CHECK(weight(x).scalar_type() == at::kBFloat16);
    }
    {
      const Autocast other(AmpMode::fp16, kCpu);
      CHECK(weight(x).scalar_type() == at::kHalf);
    }
    CHECK(weight(x).scalar_type() == at::kBFloat16);
  }
  CHECK(weight(x).scalar_type() == at::kFloat);
}

TEST_CASE("an exception inside leaves nothing on, and the next weights are cast anew") {
  const Weight weight;
  const at::Tensor x = at::ones({2, 8});
  CHECK_THROWS_AS(
      [&] {
        const Autocast outer(AmpMode::bf16, kCpu);
        const Autocast inner(AmpMode::fp16, kCpu);
        weight(x);
        throw std::runtime_error("on the way");
      }(),
      std::runtime_error);
  CHECK_FALSE(ac::is_autocast_enabled(at::kCPU));
  CHECK(ac::increment_nesting() == 1);  // and no level of nesting
  ac::decrement_nesting();
  const Autocast autocast(AmpMode::bf16, kCpu);
  CHECK(weight(x).scalar_type() == at::kBFloat16);
}

TEST_CASE("a weight that was updated between two guards is seen by the second") {
  Weight weight;
  const at::Tensor x = at::ones({1, 8});
  const auto first_output = [&] {
    const Autocast autocast(AmpMode::bf16, kCpu);
    return weight(x)[0][0].item<float>();
  };
  weight.values.detach().fill_(1);
  CHECK(first_output() == 8);
  weight.values.detach().fill_(2);
  CHECK(first_output() == 16);
}

TEST_CASE("a guard that ended early has nothing left to end") {
  const Autocast outer(AmpMode::bf16, kCpu);
  {
    Autocast inner(AmpMode::fp16, kCpu);
    inner.end();
    CHECK(type_of_product() == at::kBFloat16);
    inner.end();
    const Autocast again(AmpMode::fp16, kCpu);
    CHECK(type_of_product() == at::kHalf);
  }
  CHECK(type_of_product() == at::kBFloat16);
}

TEST_CASE("the gradients of the whole model under bf16 are near those of fp32") {
  const VitShape shape{24, 48, 3, 4, 32, 2, 2};
  Parameters parameters;
  const Vit model(parameters, shape);
  parameters.materialise(7, kCpu);
  const at::Tensor input = at::randn({2, 3, 24, 48});
  const at::Tensor target = at::randn({2, 3, 24, 48});
  const auto gradients = [&](AmpMode mode) {
    parameters.zero_gradients();
    Autocast autocast(mode, kCpu);
    const at::Tensor loss = relative_l2(model(input), target);
    autocast.end();
    loss.backward();
    return parameters.gradients().clone();
  };
  const at::Tensor plain = gradients(AmpMode::none);
  const at::Tensor cast = gradients(AmpMode::bf16);
  const double cosine = (plain.dot(cast) / (plain.norm() * cast.norm())).item<double>();
  CHECK(cosine > 0.999);
  CHECK(cosine < 1);  // they were computed in other bits
  CHECK((cast.norm() / plain.norm()).item<double>() == Approx(1).margin(0.02));
}

}  // namespace isobar::test_autocast
