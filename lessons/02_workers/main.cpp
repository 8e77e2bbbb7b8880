// Run:   ./isobar run 02_workers --set data.throttle_mb_per_s=290, and the same of 01_baseline
// Watch: `load`, now the wait for a batch that is not there yet; the losses beside those of lesson 01.
// Next:  03_gpu_loader, where threads share the work of one batch and the last stage runs on the device.
#include "data/dataset.h"
#include "data/worker_loader.h"
#include "model/parameters.h"
#include "model/vit.h"
#include "run/run.h"  // Run, Recorder, Step, Checkpoints
#include "samples/sampler.h"
#include "train/adam.h"
#include "train/evaluate.h"
#include "train/loss.h"            // relative_l2
#include "train/schedule.h"        // learning_rate, peak_learning_rate
#include "train/training_state.h"  // Training
#include "train/weights.h"         // save_weights

using namespace isobar;

static void train(Run& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const Config& config = run.config();

  // ---- Data ----------------------------------------------------------------------------------------------
  const Dataset train_set(config.data, run.data_root(), "train", config.data.limit_train);
  const Dataset valid_set(config.data, run.data_root(), "valid", config.data.limit_valid);
  const Sampler sampler(train_set.size(), config.data.shuffle, config.data.seed);
  const Sampler in_order(valid_set.size(), /*shuffle=*/false, /*seed=*/0);
  // Reading needs no result of a step: data.workers threads fill batches ahead, and hand them over in order.
  WorkerLoader loader(train_set, sampler, config, run.device(), run.spans());
  WorkerLoader valid_loader(valid_set, in_order, config, run.device(), run.spans(), Passes::single);

  // ---- Model ---------------------------------------------------------------------------------------------
  Parameters parameters;
  const Vit model(parameters, vit_shape(config));
  parameters.materialise(config.train.seed, run.device());
  run.first_weights(parameters);  // drawn at random, or read from train.init
  Adam adam(parameters, config.optim);
  const Training training{parameters, adam, loader};  // what a checkpoint holds

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_set, valid_set, training);
  Recorder& recorder = run.recorder();  // writes steps and scores to the run folder
  GradientGuard& guard = run.guard();
  Checkpoints checkpoints = run.checkpoints(training);
  checkpoints.resume();  // continues the run that --resume names
  const auto validate = [&] {
    if (!recorder.scores_due()) return;
    recorder.record(evaluate(model, valid_set, valid_loader, run.device(), recorder.live("validating")));
  };
  validate();
  while (run.goes_on()) {  // until all steps are done, or a stop is requested
    Step step = recorder.begin_step();

    step.enter(Stage::load);  // waits only if the next batch is not filled yet
    Batch batch = loader.next();

    step.enter(Stage::copy);
    batch = batch.to(run.device());

    step.enter(Stage::forward);
    parameters.zero_gradients();
    const at::Tensor loss = relative_l2(model(batch.input), batch.target);

    step.enter(Stage::backward);
    loss.backward();

    step.enter(Stage::optimize);
    guard.check(step);  // a gradient that is not finite ends the run before it reaches the weights
    const double lr = learning_rate(config.schedule, config.optim.lr, step.index(), config.train.steps);
    adam.step(lr);

    step.finish({.loss = loss, .learning_rate = lr, .samples = batch.size(), .epoch = batch.epoch});
    validate();  // after each epoch and at the end
    checkpoints.save_when_due();
  }
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("02_workers", argc, argv, train); }
