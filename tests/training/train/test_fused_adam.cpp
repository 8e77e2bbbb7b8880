// Fused Adam in its variants: the weights that plain Adam gives, steps that are skipped, and the length of
// the gradient.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include <cmath>
#include <limits>

#include "support/catch.h"
#include "support/small_vit.h"
#include "support/tolerances.h"
#include "train/fused_adam.h"

using namespace isobar;

namespace {

struct Variant {
  std::string name;
  bool adam, grad_norm;
  AdamKernel kernel;
};

const std::vector<Variant> kVariants = {{"own, fused norm", true, true, AdamKernel::own},
                                        {"own, plain norm", true, false, AdamKernel::own},
                                        {"libtorch, fused norm", true, true, AdamKernel::libtorch},
                                        {"libtorch, plain norm", true, false, AdamKernel::libtorch},
                                        {"plain, fused norm", false, true, AdamKernel::own},
                                        {"plain, plain norm", false, false, AdamKernel::own}};

struct Trained {
  Trained(const Variant& variant, AmpMode mode)
      : scaler({.mode = mode, .init_scale = 1024, .growth_interval = 3}, at::kCPU),
        adam(model.parameters, optim(variant), {.adam = variant.adam, .grad_norm = variant.grad_norm}) {}

  static OptimConfig optim(const Variant& variant) { return {.lr = 1e-3, .kernel = variant.kernel}; }

  /// Gradients of the size `scale` that depend on `seed` only, times the loss scale.
  void gradients(std::uint64_t seed, double scale = 0.01) {
    at::manual_seed(seed);
    at::Tensor flat = model.parameters.gradients();
    for (const Parameter& parameter : model.parameters.all())
      parameter.tensor.grad().copy_(at::randn(parameter.tensor.sizes()).mul_(scale));
    if (scaler.active()) flat.mul_(scaler.scale_value());
  }

  PlainModel model{kOddVit};
  GradScaler scaler;
  FusedAdam adam;
};

double norm_of(const Parameters& parameters) {
  return parameters.gradients().to(at::kDouble).norm().item<double>();
}

}  // namespace

TEST_CASE("all variants of Adam give the weights and moments of plain Adam") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::fp16}) {
    PlainModel plain(kOddVit);
    for (const Variant& variant : kVariants) {
      INFO(variant.name << ", " << name_of(mode));
      plain.parameters.materialise(3, at::kCPU);
      Adam expected(plain.parameters, {.lr = 1e-3});
      Trained ours(variant, mode);
      for (std::uint64_t step = 0; step < 10; ++step) {
        const double lr = 1e-3 / static_cast<double>(step + 1);
        ours.gradients(step);
        at::manual_seed(step);
        for (const Parameter& parameter : plain.parameters.all())
          parameter.tensor.grad().copy_(at::randn(parameter.tensor.sizes()).mul_(0.01));
        const double length = ours.adam.step(lr, ours.scaler).item<double>();
        expected.step(lr);
        CHECK(length == Approx(norm_of(plain.parameters)).epsilon(1e-5));
      }
      const bool same_operations = !variant.adam && mode == AmpMode::none;
      for (std::size_t i = 0; i < plain.parameters.all().size(); ++i) {
        const at::Tensor a = ours.model.parameters.all()[i].tensor.detach();
        const at::Tensor b = plain.parameters.all()[i].tensor.detach();
        INFO(plain.parameters.all()[i].name);
        CHECK(difference(a, b) <= 1e-6 * largest(b) + 1e-8);
        if (same_operations) CHECK(at::equal(a, b));
      }
      const std::vector<NamedTensor> moments = ours.adam.moments(), others = expected.moments();
      REQUIRE(moments.size() == others.size());
      for (std::size_t i = 0; i < moments.size(); ++i) {
        CHECK(moments[i].name == others[i].name);
        CHECK(difference(moments[i].tensor, others[i].tensor) <= 2e-6 * largest(others[i].tensor));
      }
      CHECK(ours.adam.steps() == 10);
    }
  }
}

TEST_CASE("a gradient that is not finite reaches neither weights nor moments, and t stays") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::fp16}) {
    for (const Variant& variant : kVariants) {
      for (const float bad :
           {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        INFO(variant.name << ", " << name_of(mode) << ", " << bad);
        Trained ours(variant, mode);
        ours.gradients(1);
        ours.adam.step(1e-3, ours.scaler);
        const at::Tensor weights = ours.model.parameters.values().clone();
        std::vector<at::Tensor> moments;
        for (const NamedTensor& moment : ours.adam.moments()) moments.push_back(moment.tensor.clone());
        const double scale = ours.scaler.scale_value().item<double>();
        ours.gradients(2);
        ours.model.parameters.all()[5].tensor.grad().view(-1)[0].fill_(bad);
        CHECK_FALSE(std::isfinite(ours.adam.step(1e-3, ours.scaler).item<double>()));
        CHECK(at::equal(ours.model.parameters.values(), weights));
        const std::vector<NamedTensor> after = ours.adam.moments();
        for (std::size_t i = 0; i < after.size(); ++i) CHECK(at::equal(after[i].tensor, moments[i]));
        CHECK(ours.adam.steps() == 1);
        CHECK(ours.scaler.scale_value().item<double>() == (ours.scaler.active() ? scale / 2 : scale));
        ours.gradients(3);
        ours.adam.step(1e-3, ours.scaler);
        CHECK(ours.adam.steps() == 2);
        CHECK_FALSE(at::equal(ours.model.parameters.values(), weights));
      }
    }
  }
}

TEST_CASE("a value in the padding of the gradients is seen by the fused norm") {
  Trained fused(kVariants[0], AmpMode::none), plain(kVariants[1], AmpMode::none);
  for (Trained* const trained : {&fused, &plain}) {
    trained->gradients(1);
    trained->model.parameters.gradients()[-1].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  CHECK_FALSE(std::isfinite(fused.adam.step(1e-3, fused.scaler).item<double>()));
  CHECK(std::isfinite(plain.adam.step(1e-3, plain.scaler).item<double>()));  // it looks at the tensors only
}

TEST_CASE("the learning rate is taken anew without another update, and steps come back") {
  Trained one(kVariants[0], AmpMode::none), two(kVariants[0], AmpMode::none);
  one.gradients(1);
  two.gradients(1);
  one.adam.step(5e-4, one.scaler);
  two.adam.set_learning_rate(1);
  two.adam.set_learning_rate(5e-4);
  two.adam.update(two.scaler);
  CHECK(at::equal(one.model.parameters.values(), two.model.parameters.values()));
  two.adam.set_steps(41);
  CHECK(two.adam.steps() == 41);
  two.gradients(2);
  two.adam.update(two.scaler);
  CHECK(two.adam.steps() == 42);
}

TEST_CASE("what needs the host cannot be captured, and says so") {
  for (const Variant& variant : kVariants) {
    const std::string why = Trained(variant, AmpMode::none).adam.why_not_captured();
    INFO(variant.name);
    if (!variant.adam) CHECK(why.find("fusion.adam") != std::string::npos);
    if (variant.adam && !variant.grad_norm) CHECK(why.find("fusion.grad_norm") != std::string::npos);
    if (variant.adam && variant.grad_norm) CHECK(why.empty());
  }
}
