// Lesson 08 on the device: a replayed step is the step that was recorded, and what cannot be recorded is told
// in words.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "device/load_cuda.h"
#include "gpu/gpu.h"
#include "lessons/lesson_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "train/step_graph.h"

using namespace isobar;

namespace {

constexpr const char* kLesson = "08_cuda_graphs";
constexpr int kWarmUp = 3;

struct Trained {
  std::vector<Json> lines;
  std::vector<double> losses;
  std::string weights;
};

/// Attention's plain form gives the same bits every time; the others add up in the order of their blocks.
std::vector<std::string> with_defaults(const std::vector<std::string>& sets) {
  std::vector<std::string> out = {"run.device=cuda",       "train.steps=20",
                                  "train.report_every=1",  "model.attention=math",
                                  "run.deterministic=yes", "graph.warmup=" + std::to_string(kWarmUp)};
  out.insert(out.end(), sets.begin(), sets.end());
  return out;
}

Trained trained(const std::filesystem::path& run_dir, const std::vector<std::string>& sets) {
  const ProcessResult result = train_lesson(kLesson, run_dir, with_defaults(sets));
  INFO(result.err);
  REQUIRE(result.code == 0);
  Trained out{stream(run_dir), {}, read_text_file(run_dir / "weights.safetensors", 100'000'000)};
  for (const Json& step : of_kind(out.lines, "step")) out.losses.push_back(step["loss"].as_number());
  REQUIRE(out.losses.size() == 20);
  return out;
}

double spread(const std::vector<double>& values, int from) {
  const auto [least, most] = std::minmax_element(values.begin() + from, values.end());
  return *most - *least;
}

}  // namespace

TEST_CASE(
    "replayed steps give the bits of launched ones: losses, schedule and weights, in every type and scope") {
  const TempFolder folder;
  for (const std::string mode : {"none", "tf32", "bf16", "fp16"}) {
    const Trained launched =
        trained(folder / ("launched_" + mode), {"amp.mode=" + mode, "graph.enabled=false"});
    for (const std::string scope : {"step", "model"}) {
      INFO(mode << " scope " << scope);
      const Trained replayed = trained(folder / (scope + mode), {"amp.mode=" + mode, "graph.scope=" + scope});
      CHECK(replayed.losses == launched.losses);
      CHECK(replayed.weights == launched.weights);
    }
  }
}

TEST_CASE("with the attention that libtorch picks, replayed losses stay near launched ones") {
  const TempFolder folder;
  const std::vector<std::string> free = {"model.attention=auto", "run.deterministic=no"};
  const Trained launched = trained(folder / "launched", {free[0], free[1], "graph.enabled=false"});
  const Trained replayed = trained(folder / "replayed", free);
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(std::abs(replayed.losses[i] - launched.losses[i]) < 1e-2 * launched.losses[i]);
}

TEST_CASE("the stream says what was recorded, and times replays as such") {
  const TempFolder folder;
  const Trained run = trained(folder / "run", {});
  int notes = 0;
  for (const Json& note : of_kind(run.lines, "note")) {
    if (note["text"] != "graph") continue;
    ++notes;
    CHECK(note["kernels"].as_integer() > 50);
    CHECK(note["step"] == kWarmUp);
  }
  CHECK(notes == 1);
  for (const Json& step : of_kind(run.lines, "step")) {
    const bool replayed = step["step"].as_integer() >= kWarmUp;
    CHECK(step.contains("replay_us") == replayed);
    CHECK(step.contains("replay_host_us") == replayed);
    CHECK(step.contains("backward_us") == !replayed);
  }
}

TEST_CASE("the host asks for a replayed step in a fraction of the time") {
  const TempFolder folder;
  const auto host_us = [](const Trained& run) {
    std::vector<double> out;
    for (const Json& step : of_kind(run.lines, "step")) {
      if (step["step"].as_integer() <= kWarmUp) continue;
      double sum = 0;
      for (const char* stage : {"forward", "backward", "optimize", "replay"}) {
        const std::string key = std::string(stage) + "_host_us";
        if (step.contains(key)) sum += step[key].as_number();
      }
      out.push_back(sum);
    }
    std::sort(out.begin(), out.end());
    return out[out.size() / 2];
  };
  const double launched = host_us(trained(folder / "launched", {"graph.enabled=false"}));
  const double replayed = host_us(trained(folder / "replayed", {}));
  INFO("launched " << launched << " us, replayed " << replayed);
  CHECK(replayed < 0.5 * launched);
}

TEST_CASE("fault stale_input: one batch again and again, whose loss stands still where nothing is learned") {
  const TempFolder folder;
  const Trained right = trained(folder / "right", {"optim.lr=1e-12"});
  const Trained stale = trained(folder / "stale", {"optim.lr=1e-12", "run.fault=stale_input"});
  CHECK(spread(stale.losses, kWarmUp) < 1e-6);
  CHECK(spread(right.losses, kWarmUp) > 1e-4);
}

TEST_CASE("fault lr_baked_in: the schedule moves on, and the weights do not hear of it") {
  const TempFolder folder;
  const Trained right = trained(folder / "right", {});
  const Trained baked = trained(folder / "baked", {"run.fault=lr_baked_in"});
  CHECK(baked.weights != right.weights);
  // The rate reaches the weights at the end of its step: one more loss is the same.
  for (int i = 0; i <= kWarmUp; ++i)
    CHECK(baked.losses[static_cast<std::size_t>(i)] == right.losses[static_cast<std::size_t>(i)]);
}

TEST_CASE("a step that overflows is skipped in replay too, and the scale comes down") {
  const TempFolder folder;
  const std::vector<std::string> sets = {"amp.mode=fp16", "run.fault=scale_too_high", "amp.backoff=0.01",
                                         "graph.warmup=1"};
  const Trained replayed = trained(folder / "replayed", sets);
  std::vector<std::string> eager = sets;
  eager.emplace_back("graph.enabled=false");
  const Trained launched = trained(folder / "launched", eager);
  CHECK(replayed.weights == launched.weights);
  const Json last = of_kind(replayed.lines, "step").back();
  CHECK(last["skipped"].as_integer() >= 2);  // of which the first alone was launched
  CHECK(last["scale"].as_number() < std::ldexp(1.0, 30));
  CHECK(replayed.losses.back() < replayed.losses.front());
}

TEST_CASE("fault item_in_capture is told by operation and stage, not by a number") {
  const TempFolder folder;
  const ProcessResult result =
      train_lesson(kLesson, folder / "run", with_defaults({"run.fault=item_in_capture"}));
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("cannot be recorded") && says("reads the device from the host") &&
                             says("aten::") && says("stage backward") && says("after the replay"));
}

TEST_CASE("fault no_warmup works or says what is missing") {
  const TempFolder folder;
  const ProcessResult result = train_lesson(kLesson, folder / "run", with_defaults({"run.fault=no_warmup"}));
  INFO(result.err);
  if (result.code == 0) return;
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("cannot be recorded") && says("graph.warmup"));
}

TEST_CASE("an optimiser that needs the host is refused in the recording, and works behind it") {
  const TempFolder folder;
  const ProcessResult refused =
      train_lesson(kLesson, folder / "refused", with_defaults({"fusion.grad_norm=false"}));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, says("fusion.grad_norm") && says("graph.scope=model"));
  trained(folder / "model", {"fusion.grad_norm=false", "graph.scope=model"});
}

TEST_CASE("on the device a batch of another shape is refused, and the recording still stands") {
  struct {
    void enter(Stage) {}
  } timed;
  int told = 0;
  StepGraph graph({.enabled = true, .scope = GraphScope::step, .warmup = 3}, kGpu, cuda_plugin());
  const auto step = [&](double value, std::int64_t samples) {
    const at::Tensor field = at::ones({samples, 2, 4, 4}, on_gpu()) * value;
    graph.renew({field, field}, /*learning_rate=*/0);
    const StepOutput out = graph.step(
        timed, [](const Batch& batch) { return (batch.input * batch.target).sum(); }, [] {},
        [] { return at::ones({}, on_gpu()); });
    told += out.recording ? 1 : 0;
    return out.loss.item<double>();
  };
  for (int i = 1; i < 8; ++i) CHECK(step(i, 2) == 64.0 * i * i);
  CHECK(told == 1);
  CHECK_THAT(error_of([&] { step(1, 1); }, Exit::bad_input), says("[1, 2, 4, 4]") && says("[2, 2, 4, 4]"));
  CHECK(step(9, 2) == 64.0 * 81);
}
