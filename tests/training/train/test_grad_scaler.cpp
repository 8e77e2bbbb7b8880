// Loss scaling by its rules, step by step, and its state through a checkpoint.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "config/with_fault.h"
#include "model/parameters.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_fault.h"
#include "support/temp_folder.h"
#include "train/grad_scaler.h"
#include "train/named_tensors.h"
#include "train/stored_tensors.h"

namespace isobar::test_grad_scaler {

namespace {

const c10::Device kCpu(c10::kCPU);
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

AmpConfig fp16(double init_scale = 65536, std::int64_t interval = 2000) {
  AmpConfig out;
  out.mode = AmpMode::fp16;
  out.init_scale = init_scale;
  out.growth_interval = interval;
  return out;
}

/// Three parameters with gaps between them.
struct Model {
  Model() {
    for (const char* name : {"a", "b", "c"}) parameters.add({.name = name, .full_shape = {3, 7}});
    parameters.materialise(1, kCpu);
  }
  void fill(float value) { parameters.gradients().fill_(value); }
  void put(std::size_t parameter, std::int64_t place, float value) {
    at::Tensor flat = parameters.all()[parameter].tensor.grad().view(-1);
    flat[place] = value;
  }
  Parameters parameters;
};

/// Scale, steps skipped so far and in a row.
std::array<double, 3> report(const GradScaler& scaler) {
  const at::Tensor values = scaler.report();
  return {values[0].item<double>(), values[1].item<double>(), values[2].item<double>()};
}

bool make_step(GradScaler& scaler, Model& model, float gradient) {
  model.fill(1);
  model.put(1, 4, gradient);
  const bool good = scaler.unscale(model.parameters);
  scaler.update();
  return good;
}

/// PyTorch's rules in plain numbers.
struct Rules {
  double scale;
  std::int64_t interval;
  std::int64_t good_steps = 0;
  double skipped = 0;
  double in_row = 0;

  void step(bool overflow) {
    if (overflow) {
      scale *= 0.5;
      good_steps = 0;
      ++skipped;
      ++in_row;
      return;
    }
    in_row = 0;
    if (++good_steps < interval) return;
    scale *= 2;
    good_steps = 0;
  }
};

}  // namespace

TEST_CASE("a loss is scaled, and its gradients come back as they would have been, to the last bit") {
  Model model;
  GradScaler scaler(fp16(), kCpu);
  const at::Tensor weight = at::randn({20}).requires_grad_();
  const at::Tensor loss = (weight * weight).sum();
  CHECK(scaler.scale(loss).item<float>() == 65536 * loss.item<float>());
  const at::Tensor gradients = at::randn(model.parameters.gradients().sizes());
  model.parameters.gradients().copy_(gradients * 65536);
  CHECK(scaler.unscale(model.parameters));
  CHECK(at::equal(model.parameters.gradients(), gradients));  // a power of two loses nothing
}

TEST_CASE("one value that is not finite, wherever it is, makes the step one to skip") {
  for (const float bad : {kInf, -kInf, kNan}) {
    for (const std::size_t parameter : {0U, 1U, 2U}) {
      for (const std::int64_t place : {0, 20}) {
        Model model;
        GradScaler scaler(fp16(), kCpu);
        model.fill(1);
        model.put(parameter, place, bad);
        CHECK_FALSE(scaler.unscale(model.parameters));
        CHECK(scaler.overflow().item<float>() != 0);
        scaler.update();
        CHECK(report(scaler) == std::array<double, 3>{32768, 1, 1});
        // In place, and still to be found.
        const float left = model.parameters.all()[parameter].tensor.grad().view(-1)[place].item<float>();
        CHECK_FALSE(std::isfinite(left));
      }
    }
  }
  Model model;
  GradScaler scaler(fp16(), kCpu);
  model.fill(std::numeric_limits<float>::max());
  CHECK(scaler.unscale(model.parameters));  // large, and finite
}

TEST_CASE("the scale follows the rules through any sequence of steps") {
  std::mt19937 random(11);
  for (const std::int64_t interval : {1, 2, 3, 7}) {
    Model model;
    GradScaler scaler(fp16(1024, interval), kCpu);
    Rules rules{1024, interval};
    for (int step = 0; step < 200; ++step) {
      const bool overflow = random() % 3 == 0;
      CHECK(make_step(scaler, model, overflow ? kInf : 1) == !overflow);
      rules.step(overflow);
      INFO("step " << step << ", interval " << interval);
      REQUIRE(report(scaler) == std::array<double, 3>{rules.scale, rules.skipped, rules.in_row});
    }
  }
}

TEST_CASE("two overflows in a row quarter the scale, and a good step ends the row") {
  Model model;
  GradScaler scaler(fp16(1024, 2), kCpu);
  make_step(scaler, model, kNan);
  make_step(scaler, model, kInf);
  CHECK(report(scaler) == std::array<double, 3>{256, 2, 2});
  make_step(scaler, model, 1);
  CHECK(report(scaler) == std::array<double, 3>{256, 2, 0});
  make_step(scaler, model, 1);
  CHECK(report(scaler) == std::array<double, 3>{512, 2, 0});
}

TEST_CASE("the scale never grows to infinity") {
  Model model;
  GradScaler scaler(fp16(std::ldexp(1.0, 125), 1), kCpu);
  for (int step = 0; step < 10; ++step) make_step(scaler, model, 1);
  CHECK(report(scaler)[0] == std::ldexp(1.0, 127));
  make_step(scaler, model, kInf);
  CHECK(report(scaler)[0] == std::ldexp(1.0, 126));
}

TEST_CASE("other factors than two and a half are taken as they are set") {
  Model model;
  AmpConfig config = fp16(1000, 1);
  config.growth = 1.5;
  config.backoff = 0.25;
  GradScaler scaler(config, kCpu);
  make_step(scaler, model, 1);
  CHECK(report(scaler)[0] == 1500);
  make_step(scaler, model, kInf);
  CHECK(report(scaler)[0] == 375);
}

TEST_CASE("other modes, and the fault no_scaler, leave loss and gradients alone") {
  Model model;
  const auto check_idle = [&](const AmpConfig& config) {
    GradScaler scaler(config, kCpu);
    CHECK_FALSE(scaler.active());
    const at::Tensor loss = at::full({}, 3.0F);
    CHECK(scaler.scale(loss).is_same(loss));
    CHECK(make_step(scaler, model, kInf));
    CHECK(model.parameters.gradients()[0].item<float>() == 1);
    CHECK(report(scaler) == std::array<double, 3>{1, 0, 0});
    CHECK(scaler.state().empty());
  };
  for (const AmpMode mode : {AmpMode::none, AmpMode::tf32, AmpMode::bf16}) {
    AmpConfig config;
    config.mode = mode;
    check_idle(config);
  }
  {
    const MadeFault made({.fault = Fault::no_scaler});
    check_idle(fp16());
  }
  Config config;
  config.amp = fp16();
  const AmpConfig too_high = with_fault(config, {.fault = Fault::scale_too_high}).amp;
  CHECK(report(GradScaler(too_high, kCpu))[0] == std::ldexp(1.0, 40));
  CHECK(report(GradScaler(fp16(), kCpu))[0] == 65536);
}

TEST_CASE("its state goes through a file, within a row of skipped steps and within a growth interval") {
  const TempFolder folder;
  for (const int good_steps : {0, 2}) {
    Model model;
    GradScaler first(fp16(1024, 5), kCpu);
    for (int step = 0; step < 3; ++step) make_step(first, model, kInf);
    for (int step = 0; step < good_steps; ++step) make_step(first, model, 1);
    write_safetensors(folder / "scaler.safetensors", HostTensors(first.state()).to_write(), {});
    GradScaler second(fp16(8, 5), kCpu);
    load_tensors(second.state(), folder / "scaler.safetensors");
    CHECK(report(second) == report(first));
    for (int step = 0; step < 12; ++step) {
      make_step(first, model, step == 7 ? kNan : 1);
      make_step(second, model, step == 7 ? kNan : 1);
      CHECK(report(second) == report(first));
    }
  }
}

TEST_CASE("a state of other types or shapes is refused by name") {
  const TempFolder folder;
  GradScaler scaler(fp16(), kCpu);
  std::vector<NamedTensor> wrong = scaler.state();
  wrong[1].tensor = at::ones({});
  write_safetensors(folder / "a.safetensors", HostTensors(wrong).to_write(), {});
  CHECK_THAT(error_of([&] { load_tensors(scaler.state(), folder / "a.safetensors"); }),
             says("growth_tracker") && says("is F32, I32 is wanted"));
  wrong = scaler.state();
  wrong.pop_back();
  write_safetensors(folder / "b.safetensors", HostTensors(wrong).to_write(), {});
  CHECK_THAT(error_of([&] { load_tensors(scaler.state(), folder / "b.safetensors"); }), says("skipped"));
  wrong = {{"half", at::ones({2}, at::kHalf)}};
  CHECK_THAT(error_of([&] { HostTensors{wrong}; }, Exit::failed),
             says("not written to files") && says("Half"));
}

}  // namespace isobar::test_grad_scaler
