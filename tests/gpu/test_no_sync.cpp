// Nothing in a step waits for the device, the copy from plain memory apart: a kernel that was started before
// it is still running when the step is over.
#include <ATen/ops/rand.h>
#include <c10/core/Event.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/spin.h"
#include "lessons/lesson_run.h"
#include "model/vit.h"
#include "run/run.h"
#include "support/catch.h"
#include "train/adam.h"
#include "train/loss.h"
#include "train/training_state.h"

using namespace isobar;

namespace {

constexpr int kWarmUp = 4;  // first steps load kernels and take memory, and wait for both
constexpr int kSteps = 12;
int steps_that_waited = -1;
int most_ahead = -1;
bool synchronises = true;

/// Lesson 01 without reading its data, with a kernel of a second in front of each step after the warm-up.
void page(Run& run) {
  const Config& config = run.config();
  Parameters parameters;
  const Vit model(parameters, vit_shape(config));
  parameters.materialise(config.train.seed, run.device());
  Adam adam(parameters, config.optim);
  const Dataset unused(config.data, data(), "train", 0);
  InlineLoader loader(unused, Sampler(unused.size(), /*shuffle=*/false, 0), 4);
  const Training training{parameters, adam, loader};
  run.announce(unused, unused, training);
  Recorder& recorder = run.recorder();
  const at::Tensor field =
      at::rand({4, config.data.channels, config.data.grid[0], config.data.grid[1]}, on_gpu());
  steps_that_waited = most_ahead = 0;
  std::vector<c10::Event> ends;
  for (int done = 0; run.goes_on(); ++done) {
    if (synchronises)
      current_stream(kGpu).synchronize();  // no more is asked for than the device keeps in mind
    if (done >= kWarmUp) spin(synchronises ? 1'000'000 : 100'000, gpu_stream());
    Step step = recorder.begin_step();
    step.enter(Stage::forward);
    parameters.zero_gradients();
    const at::Tensor loss = relative_l2(model(field), field);
    step.enter(Stage::backward);
    loss.backward();
    step.enter(Stage::optimize);
    run.guard().check(step);
    adam.step(1e-4);
    ends.emplace_back(kGpu.type());
    ends.back().record(current_stream(kGpu));
    step.finish({.loss = loss, .learning_rate = 1e-4, .samples = 4, .epoch = 0});
    const auto ahead =
        std::count_if(ends.begin(), ends.end(), [](const c10::Event& end) { return !end.query(); });
    most_ahead = std::max(most_ahead, static_cast<int>(ahead));
    if (done >= kWarmUp && current_stream(kGpu).query()) ++steps_that_waited;
  }
}

int run_page(const std::filesystem::path& run_dir) {
  std::vector<std::string> words = {"test_gpu", "--preset", "cpu_micro", "--run-dir", run_dir.string()};
  for (const char* set : {"run.device=cuda", "amp.mode=none", "train.report_every=4"})
    words.insert(words.end(), {"--set", set});
  words.insert(words.end(), {"--set", "train.steps=" + std::to_string(kSteps)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return run_lesson("01_baseline", static_cast<int>(argv.size()), argv.data(), page);
}

}  // namespace

TEST_CASE("whole steps, reports among them, are asked for while the device is busy with something else") {
  const TempFolder folder;
  synchronises = true;
  REQUIRE(run_page(folder / "run") == 0);
  CHECK(steps_that_waited == 0);
  const std::vector<Json> steps = of_kind(stream(folder / "run"), "step");
  REQUIRE(steps.size() == kSteps);  // all of them were recorded, in their order
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i]["step"] == i);
    CHECK(steps[i].contains("loss") == (i % 4 == 0 || i + 1 == kSteps));
  }
  CHECK(steps.back()["loss"].as_number() < steps.front()["loss"].as_number());
}

TEST_CASE("the host goes ahead of a slow device, and no more than two steps: each of them holds its batch") {
  const TempFolder folder;
  synchronises = false;
  REQUIRE(run_page(folder / "run") == 0);
  CHECK(most_ahead == 2);
  CHECK(of_kind(stream(folder / "run"), "step").size() == kSteps);
}
