// What recording costs, for `bench telemetry`. Usage: bench_telemetry_worker FOLDER, in which a run is
// recorded; answers commands (worker.h).
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <string>

#include "bench/serve.h"
#include "core/error.h"
#include "core/files.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "model/parameters.h"
#include "model/vit.h"
#include "run/run.h"
#include "samples/sampler.h"
#include "train/adam.h"
#include "train/loss.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace {

double us(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double processor_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto time_us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return time_us(usage.ru_utime) + time_us(usage.ru_stime);
}

/// Time inside the calls that record, by call.
struct Cost {
  Clock::duration begin{};
  Clock::duration enter{};
  Clock::duration finish{};
};

/// Runs `body` and adds its time to `sum`.
template <typename Body>
auto timed(Clock::duration& sum, const Body& body) {
  struct Add {
    Clock::duration& to;
    Clock::time_point begin = Clock::now();
    ~Add() { to += Clock::now() - begin; }
  } add{sum};
  return body();
}

class RecordedSteps {
 public:
  explicit RecordedSteps(const std::string& folder)
      : parts_({.lesson = read_lesson(project_home(), "01_baseline"),
                .arguments = arguments(folder),
                .command = {"bench telemetry"},
                .ranks = read_rank_environment()},
               nullptr),
        run_(parts_),
        model_(parameters_, vit_shape(run_.config())),
        data_(made_up(run_.config().data), {}, "train", 0),
        loader_(data_, Sampler(data_.size(), /*shuffle=*/false, 0), run_.config().train.global_batch),
        adam_(made(parameters_, run_), run_.config().optim) {
    run_.announce(data_, data_, training_);
    const VitShape& shape = model_.shape();
    input_ =
        at::randn({run_.config().train.global_batch, shape.channels, shape.height, shape.width}, at::kFloat);
  }

  /// Means of `count` steps that do nothing but record a loss that is there: {"record", "processor"}, us.
  Json alone(const std::vector<std::string>& words) {
    const int count = std::stoi(words.at(0));
    const at::Tensor loss = at::ones({}, at::kFloat);
    const double processor = processor_us();
    const Clock::time_point begin = Clock::now();
    Cost cost;
    for (int i = 0; i < count; ++i) record(cost, [&] { return loss; });
    return {{"record", us(Clock::now() - begin) / count},
            {"processor", (processor_us() - processor) / count}};
  }

  /// Means of `count` training steps: {"step", "begin", "enter", "finish"}, us; the last three are what
  /// recording took of the first.
  Json training(const std::vector<std::string>& words) {
    const int count = std::stoi(words.at(0));
    Cost cost;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      record(cost, [&] {
        parameters_.zero_gradients();
        at::Tensor loss = relative_l2(model_(input_), input_);
        loss.backward();
        adam_.step(run_.config().optim.lr);
        return loss;
      });
    }
    return {{"step", us(Clock::now() - begin) / count},
            {"begin", us(cost.begin) / count},
            {"enter", us(cost.enter) / count},
            {"finish", us(cost.finish) / count}};
  }

 private:
  static RunArguments arguments(const std::string& folder) {
    RunArguments out;
    out.settings.preset = "cpu_tiny";
    out.settings.sets = {"train.steps=1000000000", "run.device=cpu",
                         "run.trace_steps=1000000"};  // every step is traced: the dearest case
    out.run_dir = folder + "/run";
    return out;
  }

  /// One step with the calls of lesson 01's page around `work`.
  template <typename Work>
  void record(Cost& cost, const Work& work) {
    Step step = timed(cost.begin, [&] { return run_.recorder().begin_step(); });
    timed(cost.enter, [&] {
      for (const Stage stage : {Stage::load, Stage::copy, Stage::forward}) step.enter(stage);
    });
    const at::Tensor loss = work();
    timed(cost.enter, [&] {
      for (const Stage stage : {Stage::backward, Stage::optimize}) step.enter(stage);
    });
    timed(cost.finish,
          [&] { step.finish({.loss = loss, .learning_rate = 1e-3, .samples = input_.size(0), .epoch = 0}); });
  }

  static DataConfig made_up(DataConfig data) {
    data.source = DataSource::synthetic;
    return data;
  }

  static Parameters& made(Parameters& parameters, const Run& run) {
    parameters.materialise(1, run.device());
    return parameters;
  }

  RunParts parts_;
  Run run_;
  Parameters parameters_;
  Vit model_;
  Dataset data_;
  InlineLoader loader_;
  Adam adam_;
  Training training_{parameters_, adam_, loader_};
  at::Tensor input_;
};

int serve_recorder(int argc, char** argv) {
  if (argc != 2) {
    throw Error("which folder?", "bench_telemetry_worker FOLDER", "./isobar bench telemetry starts it");
  }
  RecordedSteps steps(argv[1]);
  serve({{"alone", [&](const auto& words) { return steps.alone(words); }},
         {"training", [&](const auto& words) { return steps.training(words); }}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("bench_telemetry_worker", [&] { return serve_recorder(argc, argv); });
}
