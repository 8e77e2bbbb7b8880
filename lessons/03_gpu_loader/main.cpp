// Run:   ./isobar run 03_gpu_loader, then ./isobar show last --timeline
// Watch: on a GPU the upload row runs beside forward and backward; on a CPU the processor time per GB falls.
// Next:  04_amp, where the device is so fast that a loader like lesson 02's would hold it back.
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
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
  // Threads fill the slots of a ring field by field; on a GPU with raw bytes, which the device normalises.
  RingLoader ring(train_set, sampler, config, run.device(), run.spans());
  RingLoader valid_ring(valid_set, in_order, config, run.device(), run.spans(), Passes::single);
  // A step of its own: a side stream brings the next batch to the device while this one is computed with.
  DevicePrefetch loader(ring, config.loader);
  DevicePrefetch valid_loader(valid_ring, config.loader);

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

    step.enter(Stage::load);  // the stream waits for the upload if it must; the host does not
    Batch batch = loader.next();

    step.enter(Stage::copy);  // nothing is left to do
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

int main(int argc, char** argv) { return run_lesson("03_gpu_loader", argc, argv, train); }
