#pragma once
// A run without a process: a plan by hand, a folder of its own, two parameters and made-up batches.
#include <ATen/ops/scalar_tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "run/checkpoints.h"
#include "run/gradient_guard.h"
#include "run/recorder.h"
#include "samples/sampler.h"
#include "train/adam.h"

namespace isobar {

inline Config made_config(std::int64_t steps) {
  Config config;
  config.data.source = DataSource::synthetic;
  config.data.channels = 2;
  config.data.grid = {8, 16};
  config.train.steps = steps;
  config.train.global_batch = 2;
  config.train.report_every = 2;
  return config;
}

inline RunPlan made_plan(const Config& config, Resume resume, c10::Device device = c10::kCPU) {
  RunPlan plan;
  plan.device = device;
  plan.lesson.name = "01_made";
  plan.loaded.config = config;
  plan.resume = std::move(resume);
  return plan;
}

inline RunStart made_start(const std::filesystem::path& folder) {
  RunStart start;
  start.lesson.name = "01_made";
  start.arguments.run_dir = folder;
  start.command = {"made"};
  return start;
}

/// What a page would hold.
struct MadeRun {
  MadeRun(const std::filesystem::path& folder, const Config& config, Resume resume = {},
          c10::Device device = c10::kCPU)
      : plan(made_plan(config, std::move(resume), device)),
        progress(plan.begin()),
        output(made_start(folder), plan, groups, quiet(console)),
        data(config.data, {}, "train", 0),
        loader(data, Sampler(data.size(), /*shuffle=*/false, 0), config.train.global_batch),
        adam(made_parameters(parameters, device), config.optim),
        training{parameters, adam, loader},
        recorder(plan, groups, output, progress),
        guard(plan.config(), training, progress, 1, 1),
        checkpoints(plan, training, identity, groups, progress, recorder) {
    progress.steps_per_epoch = loader.steps_per_epoch();
    recorder.follow(training, guard);
  }

  /// A step whose gradients are all `gradient`.
  void step(double loss, double gradient = 0.5) {
    Step step = recorder.begin_step();
    step.enter(Stage::load);
    const Batch batch = loader.next();
    step.enter(Stage::backward);
    for (const Parameter& parameter : parameters.all()) parameter.tensor.mutable_grad().fill_(gradient);
    step.enter(Stage::optimize);
    guard.check(step);
    adam.step(1e-3);
    step.finish({.loss = at::scalar_tensor(loss), .learning_rate = 1e-3, .samples = 2, .epoch = batch.epoch});
  }

  static Console& quiet(Console& console) {
    console.be_quiet();
    return console;
  }

  static Parameters& made_parameters(Parameters& parameters, c10::Device device) {
    parameters.add({.name = "first", .full_shape = {3}});
    parameters.add({.name = "second", .full_shape = {2, 2}});
    parameters.materialise(1, device);
    return parameters;
  }

  Console console;
  RunPlan plan;
  Progress progress;
  RankGroups groups;
  RunOutput output;
  DataIdentity identity{"here", "there"};
  Dataset data;
  InlineLoader loader;
  Parameters parameters;
  Adam adam;
  Training training;
  Recorder recorder;
  GradientGuard guard;
  Checkpoints checkpoints;
};

}  // namespace isobar
