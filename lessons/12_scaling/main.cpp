// Run:   ./isobar run 12_scaling --ranks 2 --set train.noise_every=5
// Watch: ./isobar gui: the losses, and local_square above mean_square by the noise of a batch.
// Next:  ./isobar scale 12_scaling --ranks 1,2,4; ./isobar predict 12_scaling --ranks 512 --cluster leonardo.
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
#include "train/gradient_noise.h"  // NoiseProbe
#include "train/gradient_sync.h"   // make_gradient_sync
#include "train/replicas.h"        // broadcast_weights, mean_over_ranks
#include "train/schedule.h"        // learning_rate, peak_learning_rate
#include "train/training_state.h"  // Training
#include "train/weights.h"         // save_weights

using namespace isobar;

static void train(Run& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const Config& config = run.config();
  Comm& comm = run.comm();  // the ranks that train together

  // ---- Data ----------------------------------------------------------------------------------------------
  const Dataset train_set(config.data, run.data_root(), "train", config.data.limit_train);
  const Dataset valid_set(config.data, run.data_root(), "valid", config.data.limit_valid);
  const Sampler sampler(train_set.size(), config.data.shuffle, config.data.seed, comm.rank(), comm.size(),
                        config.data.shard);  // this rank's part of every epoch
  const Sampler in_order = Sampler::in_order(valid_set.size(), comm.rank(), comm.size());
  RingLoader ring(train_set, sampler, config, run.device(), run.spans());
  RingLoader valid_ring(valid_set, in_order, config, run.device(), run.spans(), Passes::single);
  DevicePrefetch loader(ring, config.loader);
  DevicePrefetch valid_loader(valid_ring, config.loader);

  // ---- Model ---------------------------------------------------------------------------------------------
  Parameters parameters;
  FusedVit model(parameters, vit_shape(config), config.fusion, config.model.attention);  // equals Vit
  parameters.materialise(config.train.seed, run.device());
  run.first_weights(parameters);               // drawn at random, or read from train.init
  broadcast_weights(parameters, comm);         // equal starts ...
  NoiseProbe noise(parameters, comm, config);  // first: it sees a gradient before the sync sends it away
  const auto sync = make_gradient_sync(parameters, comm, config.comm);  // ... and equal gradients
  FusedAdam adam(parameters, config.optim, config.fusion);
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  const double peak = peak_learning_rate(config);              // grows with the batch, by schedule.lr_rule
  const Training training{parameters, adam, loader, &scaler};  // what a checkpoint holds

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_set, valid_set, training);
  Recorder& recorder = run.recorder();  // writes steps and scores to the run folder
  GradientGuard& guard = run.guard();
  ReplicaCheck replica_check = run.replica_check(parameters);
  Checkpoints checkpoints = run.checkpoints(training);
  checkpoints.resume();  // continues the run that --resume names
  const auto validate = [&] {
    if (!recorder.scores_due()) return;
    const Autocast autocast(config.amp.mode, run.device());
    recorder.record(mean_over_ranks(
        evaluate(model, valid_set, valid_loader, run.device(), recorder.live("validating")), comm));
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
    sync->begin();
    Autocast autocast(config.amp.mode, run.device());  // products in 16 bits; weights, norms, loss in fp32
    const at::Tensor loss = model.loss(batch.input, batch.target);
    autocast.end();  // backward belongs outside: it takes the types that forward took

    step.enter(Stage::backward);
    noise.begin(step.index());
    sync->backward(scaler.scale(loss));  // last layer first: each bucket leaves as soon as it is full

    step.enter(Stage::comm);  // what backward could not hide
    const SyncFigures sent = sync->finish();

    recorder.record_gradient_sizes(step);
    step.leave();
    const GradientSquares squares = noise.squares(scaler);  // squared lengths: a rank's gradient, the mean
    step.enter(Stage::optimize);
    const double lr = learning_rate(config.schedule, peak, step.index(), config.train.steps);
    const at::Tensor norm = adam.step(lr, scaler);  // equal on all ranks, like the weights
    guard.check(step, norm);  // if a gradient was not finite, Adam left the weights alone and the run ends
    step.finish({.loss = loss,
                 .learning_rate = lr,
                 .gradient_norm = norm,
                 .samples = batch.size(),
                 .epoch = batch.epoch,
                 .sync = sent,
                 .squares = squares});
    validate();  // after each epoch and at the end
    replica_check.compare_when_due();
    checkpoints.save_when_due();
  }
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  if (comm.rank() == 0) save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("12_scaling", argc, argv, train, join_ranks); }
