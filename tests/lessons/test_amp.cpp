// Lesson 04: what each precision does to training, what an overflow does, and what is refused.
#include <algorithm>
#include <cmath>
#include <span>

#include "core/cpu_instructions.h"
#include "fields/safetensors.h"
#include "lessons/refused.h"
#include "lessons/resumed_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/tolerance_values.h"

namespace isobar::test_amp {

namespace {

ProcessResult amp(const fs::path& run, const std::string& mode, const std::vector<std::string>& more = {}) {
  return train_lesson(
      "04_amp", run, with(with(coarse(), {"amp.mode=" + mode, "run.threads=1", "data.limit_valid=4"}), more));
}

/// Steps of fp16 that succeed.
std::vector<Json> steps_of(const fs::path& run, const std::vector<std::string>& sets) {
  const ProcessResult result = amp(run, "fp16", with({"train.report_every=1"}, sets));
  INFO(result.err);
  REQUIRE(result.code == 0);
  return of_kind(stream(run), "step");
}

double mean_loss(const std::vector<Json>& steps, std::size_t last) {
  double sum = 0;
  for (std::size_t i = steps.size() - last; i < steps.size(); ++i) sum += steps[i]["loss"].as_number();
  return sum / static_cast<double>(last);
}

/// The values of one parameter after the run.
std::vector<float> parameter(const fs::path& run, const std::string& name) {
  const SafetensorsFile file = open_safetensors(run / "weights.safetensors");
  for (const TensorInFile& tensor : file.tensors) {
    if (tensor.name != name) continue;
    std::vector<float> out(tensor.bytes / sizeof(float));
    read_tensor(file, tensor, std::as_writable_bytes(std::span(out)));
    return out;
  }
  FAIL("no parameter " << name);
  return {};
}

ProcessResult show(const fs::path& run, const std::vector<std::string>& words) {
  std::vector<std::string> all = {bin_folder(ISOBAR_BIN) + "/isobar-cli", "show", run.string()};
  all.insert(all.end(), words.begin(), words.end());
  return run_process(all);
}

}  // namespace

TEST_CASE("with amp.mode = none lesson 04 is lesson 03, bit for bit") {
  const TempFolder folder;
  const ProcessResult result = train_lesson("04_amp", folder / "run", with(kTwenty, {"amp.mode=none"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  check_equal(folder / "run", uninterrupted());
  const std::vector<Json> lines = stream(folder / "run");
  CHECK_FALSE(of_kind(lines, "step").front().contains("scale"));
  CHECK(of_kind(lines, "gradients").empty());
}

TEST_CASE("80 steps in bf16 and fp16 end near those in fp32") {
  const TempFolder folder;
  const std::vector<std::string> sets = with(coarse(), {"train.steps=80", "train.report_every=1"});
  const auto losses_of = [&](const std::string& mode) {
    const ProcessResult result = amp(folder / mode, mode, sets);
    INFO(mode << ": " << result.err);
    REQUIRE(result.code == 0);
    const std::vector<Json> lines = stream(folder / mode);
    CHECK(of_kind(lines, "run").front()["precision"] == mode);
    return std::pair{mean_loss(of_kind(lines, "step"), 8), of_kind(lines, "eval").back()["loss"].as_number()};
  };
  const auto [plain, plain_valid] = losses_of("none");
  for (const std::string mode : {"bf16", "fp16"}) {
    const auto [loss, valid] = losses_of(mode);
    WARN(mode << ": loss " << loss << " against " << plain << ", on the validation set " << valid
              << " against " << plain_valid);
    CHECK(std::abs(loss / plain - 1) < kLossHalf);
    CHECK(std::abs(valid / plain_valid - 1) < kLossHalf);
    CHECK(weights(folder / mode) != weights(folder / "none"));
  }
}

TEST_CASE("an overflow in fp16 skips its step alone, halves the scale, and training goes on") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const std::vector<Json> steps =
      steps_of(run, {"train.steps=16", "run.fault=inject_inf", "run.fault_step=5", "amp.growth_interval=4"});
  // Four good steps double it, the overflow halves it, and the count of good ones begins again.
  const std::vector<double> scales = {1, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    INFO("step " << i);
    CHECK(steps[i]["scale"].as_number() == 65536 * scales[i]);
    CHECK(steps[i]["skipped"] == (i < 5 ? 0 : 1));
  }
  CHECK(mean_loss(steps, 1) < 0.95 * steps.front()["loss"].as_number());
  const Json summary = of_kind(stream(run), "summary").back();
  CHECK(summary["skipped"] == 1);
  CHECK(summary["scale"] == 262144.0);
  CHECK_THAT(show(run, {}).out,
             says("loss scale   262144 at the end; 1 step skipped") && says("fault inject_inf"));
  CHECK(Json::parse(show(run, {"--json"}).out)["skipped"] == 1);
}

TEST_CASE("a skipped step changes no weight, and Adam does not count it") {
  const TempFolder folder;
  // The last step is skipped, once in place of an update, once behind the last update.
  const std::vector<std::string> constant = {"schedule.kind=constant", "train.checkpoint_every=1"};
  steps_of(folder / "skipped", with(constant, {"train.steps=6", "run.fault=inject_inf", "run.fault_step=5"}));
  steps_of(folder / "plain", with(constant, {"train.steps=5"}));
  CHECK(weights(folder / "skipped") == weights(folder / "plain"));
  const std::string state = read_text_file(folder / "skipped/checkpoints/step-000006/state.toml", 10'000);
  CHECK_THAT(state, says("optimizer_steps = 5") && says("step = 6"));
}

TEST_CASE("fp16 stopped right after a skip, or within a growth interval, goes on bit for bit") {
  const TempFolder folder;
  const std::vector<std::string> sets = {"schedule.kind=constant", "run.fault=inject_inf", "run.fault_step=4",
                                         "amp.growth_interval=6"};
  const auto scales_of = [](const std::vector<Json>& steps) {
    std::vector<std::string> out;
    for (const Json& step : steps) out.push_back(step["scale"].text() + " " + step["skipped"].text());
    return out;
  };
  const std::vector<Json> whole = steps_of(folder / "whole", with(sets, {"train.steps=20"}));
  for (const int stop : {5, 9}) {
    INFO("stopped after " << stop << " steps");
    const fs::path run = folder / std::to_string(stop);
    const std::string steps = "train.steps=" + std::to_string(stop);
    steps_of(run, with(sets, {steps, "train.checkpoint_every=" + std::to_string(stop)}));
    CHECK(fs::exists(run / ("checkpoints/step-00000" + std::to_string(stop)) / "scaler.safetensors"));
    const ProcessResult result = resume(run, {"train.steps=20", "run.fault=none"}, {}, "04_amp");
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK(losses(run) == losses(folder / "whole"));
    CHECK(scales_of(of_kind(stream(run), "step")) == scales_of(whole));
    CHECK(weights(run) == weights(folder / "whole"));
  }
}

TEST_CASE("overflow in every step ends the run after so many, with the scale and the place") {
  const TempFolder folder;
  for (const int most : {25, 3}) {
    const fs::path run = folder / std::to_string(most);
    std::vector<std::string> sets = {"amp.init_scale=1e30", "amp.backoff=0.99", "train.steps=60"};
    if (most != 25) sets.push_back("amp.max_skips=" + std::to_string(most));
    const ProcessResult result = amp(run, "fp16", sets);
    CHECK(result.code == 1);
    CHECK_THAT(result.err,
               says(std::to_string(most) + " steps in a row were skipped") &&
                   says("the loss scale is " + std::string(most == 25 ? "7.7" : "9.7")) &&
                   says("step " + std::to_string(most) + ", not finite first in the gradient of head") &&
                   says("Try bf16 (amp.mode=bf16), a lower lr"));
    const std::vector<Json> lines = stream(run);
    CHECK(of_kind(lines, "step").size() == static_cast<std::size_t>(most));
    CHECK(lines.back()["status"] == "failed");
  }
}

TEST_CASE("bf16 needs no scale: an overflow is the error that it is in fp32, and says where") {
  const TempFolder folder;
  const ProcessResult result =
      amp(folder / "run", "bf16", {"train.steps=9", "run.fault=inject_inf", "run.fault_step=3"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("a gradient is not a finite number") && says("step 4, blocks."));
  const ProcessResult weight =
      amp(folder / "weight", "fp16", {"train.steps=9", "run.fault=nan_weight", "run.fault_step=3"});
  CHECK(weight.code == 1);  // no scale helps: told at once, not after 25 steps
  CHECK_THAT(weight.err, says("a weight is not a finite number") && says("step 4, blocks."));
}

TEST_CASE("a scale that starts too high is found by halving, a step each") {
  const TempFolder folder;
  const std::vector<Json> steps =
      steps_of(folder / "run", {"train.steps=30", "run.fault=scale_too_high", "amp.max_skips=40"});
  const auto skipped = steps.back()["skipped"].as_integer();
  CHECK(skipped > 5);
  CHECK(skipped < 30);
  CHECK(steps.back()["scale"].as_number() == std::ldexp(1.0, 40 - static_cast<int>(skipped)));
  CHECK(steps.front()["skipped"] == 1);
  CHECK(steps.back()["loss"] != steps.front()["loss"]);
}

TEST_CASE("without a scale fp16 loses small gradients, and the histogram shows it") {
  const TempFolder folder;
  const auto zeros_of = [&](const std::string& fault) {
    const fs::path run = folder / fault;
    steps_of(run, {"train.steps=11", "amp.histogram_every=5", "run.fault=" + fault});
    const std::vector<Json> histograms = of_kind(stream(run), "gradients");
    REQUIRE(histograms.size() == 3);
    CHECK(histograms.back()["step"] == 10);
    CHECK(histograms.back()["values"] == 695136);
    CHECK(histograms.back()["scale"] == (fault == "none" ? 65536.0 : 1.0));
    return histograms.back()["zero"].as_number() / 695136;
  };
  const double without = zeros_of("no_scaler");
  const double with_scale = zeros_of("none");
  WARN("gradients that are zero: " << 100 * without << " % without a scale, " << 100 * with_scale
                                   << " % with it");
  CHECK(without > 0.001);
  CHECK(without > 20 * with_scale);
  CHECK_THAT(show(folder / "none", {"--gradients"}).out,
             says("gradients of step 10, the loss scaled by 65536") && says("smaller ones are zero in fp16"));
  CHECK_THAT(show(folder / "no_scaler", {"--gradients", "--step", "7"}).out,
             says("step 5, the loss not scaled"));
  CHECK(Json::parse(show(folder / "none", {"--gradients", "--json"}).out)["histograms"].values().size() == 3);
}

TEST_CASE("looking at gradients changes none") {
  const TempFolder folder;
  const std::vector<std::string> sets = with(kTwenty, {"amp.mode=none"});
  REQUIRE(train_lesson("04_amp", folder / "run", with(sets, {"amp.histogram_every=1"})).code == 0);
  check_equal(folder / "run", uninterrupted());
  CHECK(of_kind(stream(folder / "run"), "gradients").size() == 20);
}

TEST_CASE("weights kept in 16 bits lose small updates: norms that start at one never move") {
  const TempFolder folder;
  const auto moved = [&](const std::string& fault) {
    const fs::path run = folder / fault;
    const ProcessResult result = amp(run, "bf16", {"train.steps=20", "run.fault=" + fault});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::vector<float> values = parameter(run, "norm.weight");
    return std::count_if(values.begin(), values.end(), [](float value) { return value != 1; });
  };
  CHECK(moved("none") == 96);
  CHECK(moved("all_half") == 0);
}

TEST_CASE(
    "held to less than it has a processor emulates, says so, and trains alike; a wrong word is refused") {
  const TempFolder folder;
  const std::vector<std::string> sets =
      with(coarse(), {"amp.mode=bf16", "train.steps=40", "data.limit_valid=4"});
  const auto held_to = [&](const std::string& word) {
    return train_lesson("04_amp", folder / word, sets,
                        {.environment = {"ISOBAR_CPU_CAPABILITY=" + word, "ATEN_CPU_CAPABILITY=" + word}});
  };
  std::vector<double> last;
  for (const char* const word : {"avx2", "default"}) {
    const ProcessResult result = held_to(word);
    INFO(word << result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, says("bf16    emulated: ") && says("fp32 matrix products, measured here"));
    CHECK((result.out.find("several times slower than with AVX2") != std::string::npos) ==
          (std::string(word) == "default"));
    const std::vector<Json> lines = stream(folder / word);
    CHECK(of_kind(lines, "run").front()["emulated"] == true);
    last.push_back(of_kind(lines, "eval").back()["loss"].as_number());
  }
  CHECK(last[0] == Approx(last[1]).epsilon(kLossHalf));
  const ProcessResult wrong = held_to("avx9");
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, says("\"avx9\" is no set of instructions") && says("default, avx2 or avx512"));
  CHECK_FALSE(fs::exists(folder / "avx9"));
}

TEST_CASE("what lesson 04 cannot do is refused in words") {
  const TempFolder folder;
  const auto refused = [&](const std::string& mode, const std::vector<std::string>& sets) {
    return refusal("04_amp", with({"amp.mode=" + mode}, sets));
  };
  CHECK_THAT(refused("tf32", {}), says("TF32 exists on CUDA"));
  CHECK_THAT(refused("fp8", {}), says("amp.mode") && says("bf16"));
  CHECK_THAT(refused("bf16", {"run.fault=no_scaler"}), says("only fp16 needs") && says("amp.mode=fp16"));
  CHECK_THAT(refused("bf16", {"run.fault=scale_too_high"}), says("only fp16 needs"));
  CHECK_THAT(refused("none", {"run.fault=all_half"}), says("16 bits of amp.mode, which is none"));
  CHECK_THAT(refused("bf16", {"amp.backoff=1"}), says("less than 1"));
  CHECK_THAT(refused("bf16", {"amp.init_scale=0"}), says("more than 0"));
  CHECK_THAT(refused("bf16", {"amp.max_skips=0"}), says("at least 1"));
  CHECK_THAT(refusal("03_gpu_loader", {"amp.mode=bf16"}), says("04_amp"));
  const ProcessResult bare = amp(folder / "bare", "bf16", {"train.steps=2"});
  REQUIRE(bare.code == 0);
  CHECK_THAT(bare.out, says(", bf16") && says("  bf16    "));
  const bool is_emulated = !cpu_instructions().multiplies_bf16();
  CHECK((bare.out.find("bf16    emulated: this processor has neither AMX") != std::string::npos) ==
        is_emulated);
  const Json run = of_kind(stream(folder / "bare"), "run").front();
  CHECK(run["emulated"] == is_emulated);
  CHECK(show(folder / "bare", {"--gradients"}).code == 2);
  CHECK(show(folder / "bare", {"--gradients", "--timeline"}).code == 2);
}

}  // namespace isobar::test_amp
