// What of a graph needs no device: which step is launched and which replayed, what a batch must look like,
// and the words for what cannot be recorded. tests/gpu/test_graph.cpp has the rest.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <stdexcept>

#include "config/with_fault.h"
#include "device/capture_watch.h"
#include "device/fake_plugin.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_fault.h"
#include "train/step_graph.h"

using namespace isobar;

namespace {

using Names = std::vector<std::string>;
const c10::Device kHere(c10::kCPU);

Batch batch_of(double value, std::int64_t samples = 2) {
  const at::Tensor field = at::ones({samples, 3, 4, 4}) * value;
  return {field, field + 1};
}

/// A loop of steps whose loss is the sum of its batch.
struct Loop {
  explicit Loop(GraphConfig config) : Loop(config, std::make_shared<FakePlugin>()) {}
  Loop(GraphConfig config, std::shared_ptr<const FakePlugin> plugin)
      : device(std::move(plugin)), graph(config, kHere, *device) {}

  void enter(Stage stage) { stages.emplace_back(kStageNames[static_cast<std::size_t>(stage)]); }

  StepOutput step(const Batch& batch) {
    stages.clear();
    graph.renew(batch, /*learning_rate=*/0);
    StepOutput out = graph.step(
        *this,
        [this](const Batch& fixed) {
          graph.enter(Stage::forward);
          at::Tensor loss = forward(fixed);
          graph.enter(Stage::backward);
          backward();
          return loss;
        },
        [this] {
          graph.enter(Stage::comm);
          average();
        },
        [this] {
          graph.enter(Stage::optimize);
          return optimize();
        });
    if (out.recording) told.push_back(*out.recording);
    return out;
  }
  bool is_replayed() const { return !stages.empty() && stages.front() == "replay"; }

  std::function<at::Tensor(const Batch&)> forward = [](const Batch& batch) {
    return batch.input.sum() + batch.target.sum();
  };
  std::function<void()> backward = [] {};
  std::function<void()> average = [] {};
  std::function<at::Tensor()> optimize = [] { return at::zeros({}); };
  std::shared_ptr<const FakePlugin> device;
  std::vector<GraphFacts> told;
  Names stages;
  StepGraph graph;
};

std::string reason_of(const std::function<void()>& run) {
  const CaptureWatch watch;
  try {
    run();
  } catch (const std::exception&) {
    return watch.failed();
  }
  return "nothing failed";
}

}  // namespace

TEST_CASE("so many steps are launched as the warm-up says, one is recorded, and the rest are replayed") {
  const Names launched = {"forward", "backward", "optimize"};
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 2});
  for (int i = 0; i < 2; ++i) {
    const StepOutput out = loop.step(batch_of(i));
    CHECK(loop.stages == launched);
    CHECK(out.loss.item<double>() == 96 * (2 * i + 1));
    CHECK(loop.told.empty());
  }
  CHECK(loop.device->graphs().empty());
  for (int i = 0; i < 3; ++i) {
    loop.step(batch_of(i));
    CHECK(loop.stages == Names{"replay"});
  }
  CHECK(loop.device->graphs() == Names{"begin", "end", "launch", "launch", "launch"});
  REQUIRE(loop.told.size() == 1);
  CHECK(loop.told[0].nodes.kernels == 40);
  CHECK(loop.told[0].nodes.all() == 45);
  CHECK(loop.told[0].warmup_steps == 2);
}

TEST_CASE("with the scope of the model the optimiser is launched behind each replay") {
  Loop loop({.enabled = true, .scope = GraphScope::model, .warmup = 1});
  int updates = 0;
  loop.optimize = [&] {
    ++updates;
    return at::zeros({});
  };
  for (int i = 0; i < 4; ++i) loop.step(batch_of(i));
  CHECK(loop.stages == Names{"replay", "optimize"});
  CHECK(updates == 4);
}

TEST_CASE(
    "gradients are averaged within the recording, or with graph.collectives = false behind each replay") {
  for (const bool recorded : {true, false}) {
    Loop loop({.enabled = true, .scope = GraphScope::model, .warmup = 2, .collectives = recorded});
    Names order;
    loop.backward = [&] { order.emplace_back("backward"); };
    loop.average = [&] { order.emplace_back(loop.is_replayed() ? "behind" : "average"); };
    loop.optimize = [&] {
      order.emplace_back("optimize");
      return at::zeros({});
    };
    for (int i = 0; i < 2; ++i) loop.step(batch_of(i));
    CHECK(order == Names{"backward", "average", "optimize", "backward", "average", "optimize"});
    order.clear();
    loop.step(batch_of(2));
    CHECK(order ==
          (recorded ? Names{"backward", "average", "optimize"} : Names{"backward", "behind", "optimize"}));
    order.clear();
    loop.step(batch_of(3));
    CHECK(order == (recorded ? Names{"optimize"} : Names{"behind", "optimize"}));
  }
}

TEST_CASE("without a graph each step is launched on its own batch") {
  Loop loop({.enabled = false, .scope = GraphScope::step, .warmup = 1});
  for (int i = 0; i < 3; ++i) {
    CHECK(loop.step(batch_of(i, i + 1)).loss.item<double>() == 48 * (i + 1) * (2 * i + 1));
    CHECK(loop.stages == Names{"forward", "backward", "optimize"});
  }
  CHECK(loop.device->graphs().empty());
}

TEST_CASE("results are the caller's own: the next replay does not change them") {
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 1});
  loop.step(batch_of(1));
  const at::Tensor first = loop.step(batch_of(1)).loss;
  const at::Tensor second = loop.step(batch_of(1)).loss;
  CHECK(first.const_data_ptr() != second.const_data_ptr());
}

TEST_CASE("a batch of another shape is refused with both shapes, warmed up or recorded") {
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 2});
  for (int steps = 0; steps < 4; ++steps) {
    loop.step(batch_of(1));
    const std::string told = error_of([&] { loop.step(batch_of(1, 1)); }, Exit::bad_input);
    CHECK_THAT(told, says("[1, 3, 4, 4]") && says("[2, 3, 4, 4]") && says("graph.enabled=false"));
  }
}

TEST_CASE("fault stale_input: what is recorded sees no new batch") {
  const MadeFault made({.fault = Fault::stale_input});
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 1});
  loop.step(batch_of(1));
  at::Tensor seen;
  loop.forward = [&](const Batch& batch) {
    seen = batch.input;
    return batch.input.sum();
  };
  loop.step(batch_of(2));
  CHECK(seen.min().item<double>() == 2);
  loop.step(batch_of(3));
  CHECK(seen.min().item<double>() == 2);
}

TEST_CASE("fault no_warmup: the first step is recorded") {
  Config config;
  config.graph = {.enabled = true, .scope = GraphScope::step, .warmup = 20};
  Loop loop(with_fault(config, {.fault = Fault::no_warmup}).graph);
  loop.step(batch_of(1));
  CHECK(loop.device->graphs() == Names{"begin", "end", "launch"});
}

TEST_CASE("what fails while it is recorded is named by operation and stage, and the recording is given up") {
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 1});
  loop.step(batch_of(1));
  loop.backward = [] { at::ones({2}).item<float>(); };  // two values are no number
  const std::string told = error_of([&] { loop.step(batch_of(1)); }, Exit::failed);
  CHECK_THAT(told, says("cannot be recorded") && says("reads the device from the host") &&
                       says("stage backward") && says("after the replay"));
  CHECK(loop.device->graphs() == Names{"begin", "abandon"});
  CHECK(loop.told.empty());
  loop.backward = [] {};
  loop.optimize = []() -> at::Tensor { throw std::runtime_error("a driver says no"); };
  CHECK_THAT(error_of([&] { loop.step(batch_of(1)); }, Exit::failed),
             says("stage optimize") && says("a driver says no"));
}

TEST_CASE("a recording that only its end finds broken is blamed on no operation") {
  struct Broken final : FakePlugin {
    void end_graph(CudaGraph*) const override {
      throw std::runtime_error("operation failed due to a previous error");
    }
  };
  Loop loop({.enabled = true, .scope = GraphScope::step, .warmup = 1}, std::make_shared<Broken>());
  loop.step(batch_of(1));
  const std::string told = error_of([&] { loop.step(batch_of(1)); }, Exit::failed);
  CHECK_THAT(told, says("left work on another stream") && says("stage optimize") && says("previous error"));
  CHECK(told.find("aten::") == std::string::npos);
}

TEST_CASE("the innermost operation that an error left is the one that is named") {
  CHECK(reason_of([] { at::ones({2}).item<float>(); }) == "aten::item");
  CHECK(reason_of([] { at::ones({2, 3}).matmul(at::ones({2, 3})); }) == "aten::mm");
  CHECK(reason_of([] {
          at::ones({2});
          throw std::runtime_error("behind an operation");
        }) == "aten::fill_");
  CHECK(reason_of([] {
          try {
            at::ones({2}).item<float>();
          } catch (const std::exception&) {
          }
        }) == "nothing failed");
}

TEST_CASE("reasons and what to do, by operation") {
  CHECK_THAT(capture_reason("aten::_local_scalar_dense", true).why, says("from the host"));
  CHECK_THAT(capture_reason("aten::_local_scalar_dense", true).hint, says("after the replay"));
  CHECK_THAT(capture_reason("aten::nonzero", true).why, says("shape"));
  CHECK_THAT(capture_reason("aten::_to_copy", true).why, says("copies between host and device"));
  CHECK_THAT(capture_reason("aten::mm", true).why, says("aten::mm"));
  CHECK_THAT(capture_reason("aten::mm", false).why, says("first time"));
  CHECK_THAT(capture_reason("aten::mm", false).hint, says("graph.warmup"));
  CHECK_THAT(capture_reason("", true).why, says("another stream"));
  CHECK_THAT(capture_reason("", false).why, says("a library"));
}
