// Lesson 05: each fusion and each form of Adam trains as lesson 04 does, and what is refused.
#include <algorithm>
#include <cmath>

#include "lessons/refused.h"
#include "lessons/resumed_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerance_values.h"

namespace isobar::test_fusion {

namespace {

/// An epoch and a half.
constexpr int kSteps = 12;
const std::vector<std::string> kShort = with(
    coarse(),
    {"train.steps=" + std::to_string(kSteps), "train.report_every=1", "run.threads=1", "data.limit_valid=4"});
const std::vector<std::string> kFusions = {"adam", "bias_gelu", "residual_norm",
                                           "qkv",  "head_loss", "grad_norm"};

std::vector<std::string> all_off() {
  std::vector<std::string> out;
  for (const std::string& fusion : kFusions) out.push_back("fusion." + fusion + "=false");
  return out;
}

ProcessResult fused(const fs::path& run, const std::vector<std::string>& more) {
  return train_lesson("05_fusion", run, with(kShort, more));
}

std::vector<Json> steps_of(const std::string& lesson, const fs::path& run,
                           const std::vector<std::string>& more) {
  const ProcessResult result = train_lesson(lesson, run, with(kShort, more));
  INFO(result.err);
  REQUIRE(result.code == 0);
  return of_kind(stream(run), "step");
}

double largest_difference(const std::vector<Json>& a, const std::vector<Json>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::fabs(a[i]["loss"].as_number() - b[i]["loss"].as_number()));
  return worst;
}

}  // namespace

TEST_CASE("lesson 05 trains as lesson 04, with all fusions and without each") {
  const TempFolder folder;
  const std::string fp32 = "amp.mode=none";
  const std::vector<Json> before = steps_of("04_amp", folder / "04", {fp32});
  const std::vector<Json> all = steps_of("05_fusion", folder / "all", {fp32});
  CHECK(largest_difference(all, before) <= kSteps * kLoss);
  for (const std::string& fusion : kFusions) {
    INFO(fusion);
    const std::vector<Json> one_off =
        steps_of("05_fusion", folder / fusion, {fp32, "fusion." + fusion + "=false"});
    CHECK(largest_difference(one_off, before) <= kSteps * kLoss);
  }
  const std::vector<Json> listed =
      steps_of("05_fusion", folder / "libtorch", {fp32, "optim.kernel=libtorch"});
  CHECK(largest_difference(listed, before) <= kSteps * kLoss);
  for (const Json& step : all) {
    CHECK(step["grad_norm"].as_number() > 0);
    CHECK(std::isfinite(step["grad_norm"].as_number()));
  }
}

TEST_CASE("with all fusions off the weights of lesson 04 come out, to the bit") {
  const TempFolder folder;
  for (const char* const mode : {"none", "bf16"}) {
    INFO(mode);
    const std::string type = std::string("amp.mode=") + mode;
    steps_of("04_amp", folder / "04" / mode, {type});
    steps_of("05_fusion", folder / "05" / mode, with(all_off(), {type}));
    CHECK(weights(folder / "04" / mode) == weights(folder / "05" / mode));
  }
}

TEST_CASE("in bf16 all fusions stay within the band of the type") {
  const TempFolder folder;
  const std::vector<Json> before = steps_of("04_amp", folder / "04", {"amp.mode=none"});
  const std::vector<Json> half = steps_of("05_fusion", folder / "05", {"amp.mode=bf16"});
  CHECK(largest_difference(half, before) <= 0.005);
}

TEST_CASE("a stopped run goes on with the same t, rate and moments, to the bit") {
  const TempFolder folder;
  for (const char* const kernel : {"own", "libtorch"}) {
    const std::string key = std::string("optim.kernel=") + kernel;
    steps_of("05_fusion", folder / "whole" / kernel, {key});
    const fs::path run = folder / kernel;
    steps_of("05_fusion", run, {key, "train.steps=8", "train.checkpoint_every=8", "schedule.kind=constant"});
    const ProcessResult result = resume(run, {"train.steps=" + std::to_string(kSteps)}, {}, "05_fusion");
    INFO(result.err);
    REQUIRE(result.code == 0);
    steps_of("05_fusion", folder / "constant" / kernel, {key, "schedule.kind=constant"});
    CHECK(losses(run) == losses(folder / "constant" / kernel));
    CHECK(weights(run) == weights(folder / "constant" / kernel));
    CHECK(weights(run) != weights(folder / "whole" / kernel));
  }
}

TEST_CASE("attention is chosen by name, said at the start, and refused where it cannot run") {
  const TempFolder folder;
  const ProcessResult picked = fused(folder / "auto", {"train.steps=1"});
  REQUIRE(picked.code == 0);
  CHECK_THAT(picked.out, says("attention  flash (picked by libtorch)"));
  const ProcessResult math = fused(folder / "math", {"train.steps=1", "model.attention=math"});
  REQUIRE(math.code == 0);
  CHECK_THAT(math.out, says("attention  math (model.attention)"));
  for (const char* const absent : {"efficient", "cudnn"}) {
    const ProcessResult result =
        fused(folder / absent, {std::string("model.attention=") + absent, "run.device=cpu"});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(absent) && says("heads of 48 values") && says("auto, math, flash"));
    CHECK_FALSE(fs::exists(folder / absent));
  }
}

TEST_CASE("mistakes of lesson 05 do what they say, or are refused") {
  const TempFolder folder;
  const std::string fp32 = "amp.mode=none";
  const std::vector<Json> right = steps_of("05_fusion", folder / "right", {fp32});
  const std::vector<Json> tanh = steps_of("05_fusion", folder / "tanh", {fp32, "run.fault=tanh_gelu"});
  CHECK(weights(folder / "tanh") != weights(folder / "right"));  // another function, hardly seen in the loss
  CHECK(largest_difference(tanh, right) < 0.01);
  const std::vector<Json> unfused =
      steps_of("05_fusion", folder / "unfused", {fp32, "run.fault=unfused_adam"});
  CHECK(largest_difference(unfused, right) <= kSteps * kLoss);
  const std::vector<Json> math = steps_of("05_fusion", folder / "math", {fp32, "run.fault=math_attention"});
  CHECK(largest_difference(math, right) <= kSteps * kLoss);

  const auto refused = [&](const std::string& fault, const std::string& also) {
    return refusal("05_fusion", {"run.fault=" + fault, also});
  };
  CHECK_THAT(refused("tanh_gelu", "fusion.bias_gelu=false"), says("a fusion that is off"));
  CHECK_THAT(refused("unfused_adam", "fusion.adam=false"), says("fusion.adam=true"));
  CHECK_THAT(refused("math_attention", "model.attention=math"), says("change nothing"));
  CHECK_THAT(refused("nan_in_padding", "fusion.grad_norm=false"), says("fusion.grad_norm=true"));
}

TEST_CASE("values that are not finite are told by place, and never reach the weights") {
  const TempFolder folder;
  for (const char* const mode : {"none", "bf16"}) {
    const std::string type = std::string("amp.mode=") + mode;
    const ProcessResult padding =
        fused(folder / "padding" / mode, {type, "run.fault=nan_in_padding", "run.fault_step=3"});
    CHECK(padding.code == 1);
    CHECK_THAT(padding.err,
               says("the padding of the gradient buffer") && says("step 4") && says("no gradient does"));
    for (const char* const off : {"fusion.head_loss=true", "fusion.grad_norm=false", "fusion.adam=false"}) {
      const ProcessResult result =
          fused(folder / mode / off, {type, off, "run.fault=nan_gradient", "run.fault_step=3"});
      INFO(off);
      CHECK(result.code == 1);
      CHECK_THAT(result.err,
                 says("a gradient is not a finite number (1 of 70 tensors)") && says("step 4, blocks."));
    }
  }
}

}  // namespace isobar::test_fusion
