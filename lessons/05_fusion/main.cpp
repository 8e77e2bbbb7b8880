// Run:   ./isobar run 05_fusion, then again with one piece off, such as --set fusion.bias_gelu=false
// Watch: launches and moved bytes a step, and the stages forward, backward and optimize.
// Next:  06_ddp, where several processes train one model.
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "model/fused_vit.h"
#include "model/parameters.h"
#include "run/run.h"  // Run, Recorder, Step, Checkpoints
#include "samples/sampler.h"
#include "train/autocast.h"
#include "train/evaluate.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
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
  RingLoader ring(train_set, sampler, config, run.device(), run.spans());
  RingLoader valid_ring(valid_set, in_order, config, run.device(), run.spans(), Passes::single);
  DevicePrefetch loader(ring, config.loader);
  DevicePrefetch valid_loader(valid_ring, config.loader);

  // ---- Model ---------------------------------------------------------------------------------------------
  Parameters parameters;
  FusedVit model(parameters, vit_shape(config), config.fusion, config.model.attention);  // equals Vit
  parameters.materialise(config.train.seed, run.device());
  run.first_weights(parameters);  // drawn at random, or read from train.init
  FusedAdam adam(parameters, config.optim, config.fusion);
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  const Training training{parameters, adam, loader, &scaler};  // what a checkpoint holds

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_set, valid_set, training);
  Recorder& recorder = run.recorder();  // writes steps and scores to the run folder
  GradientGuard& guard = run.guard();
  Checkpoints checkpoints = run.checkpoints(training);
  checkpoints.resume();  // continues the run that --resume names
  const auto validate = [&] {
    if (!recorder.scores_due()) return;
    const Autocast autocast(config.amp.mode, run.device());
    recorder.record(evaluate(model, valid_set, valid_loader, run.device(), recorder.live("validating")));
  };
  validate();
  while (run.goes_on()) {  // until all steps are done, or a stop is requested
    Step step = recorder.begin_step();
    step.enter(Stage::load);  // the stream waits for the upload if it must; the host does not
    Batch batch = loader.next();
    step.enter(Stage::copy);
    batch = batch.to(run.device());

    step.enter(Stage::forward);
    parameters.zero_gradients();
    Autocast autocast(config.amp.mode, run.device());  // products in 16 bits; weights, norms, loss in fp32
    const at::Tensor loss = model.loss(batch.input, batch.target);
    autocast.end();  // backward belongs outside: it takes the types that forward took

    step.enter(Stage::backward);
    scaler.scale(loss).backward();  // so that small gradients do not become zero in fp16

    recorder.record_gradient_sizes(step);
    step.enter(Stage::optimize);
    const double lr = learning_rate(config.schedule, config.optim.lr, step.index(), config.train.steps);
    const at::Tensor norm = adam.step(lr, scaler);  // two kernels, and the host waits for neither
    guard.check(step, norm);  // if a gradient was not finite, Adam left the weights alone and the run ends
    step.finish({.loss = loss,
                 .learning_rate = lr,
                 .gradient_norm = norm,
                 .samples = batch.size(),
                 .epoch = batch.epoch});
    validate();  // after each epoch and at the end
    checkpoints.save_when_due();
  }
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("05_fusion", argc, argv, train); }
