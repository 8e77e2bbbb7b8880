// Run:   ./isobar run 11_compression --ranks 2 --set comm.compress=powersgd, then with none, bf16 and acpsgd
// Watch: ./isobar compare: bytes and calls of a step, what backward hides of them, samples/s, the loss.
// Next:  send less often (--set comm.average=weights --set comm.local_steps=8) and ask what it changes.
#include "compress/compressed_sync.h"  // make_compressed_sync, Compression
#include "compress/weight_average.h"
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
  run.first_weights(parameters);        // drawn at random, or read from train.init
  broadcast_weights(parameters, comm);  // equal starts ...
  Compression compression(parameters, comm, config.comm, config.train.seed);  // what a bucket sends
  const auto way = [&](SentBucket& bucket) -> BucketTask {                    // once it is full:
    while (const auto payload = compression.transform(bucket))  // P = (G + E) Q; then Q = (G + E)^T P
      co_await bucket.all_reduce(*payload);  // backward continues meanwhile, this task behind the sum
    compression.finish(bucket);              // G = P Q^T; E is what that leaves out
  };
  const auto sync = make_compressed_sync(parameters, comm, config.comm, compression, way);
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
  WeightAverage weights(parameters, comm, config.comm, config.train.steps);  // or once in comm.local_steps
  const auto validate = [&] {
    if (!recorder.scores_due()) return;
    sync->share_buffers();  // where comm.broadcast_buffers is on, all ranks score with those of rank 0
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
    sync->backward(scaler.scale(loss));  // last layer first: each bucket leaves as soon as it is full

    step.enter(Stage::comm);  // what backward could not hide
    SyncFigures sent = sync->finish();

    recorder.record_gradient_sizes(step);
    step.enter(Stage::optimize);
    const double lr = learning_rate(config.schedule, peak, step.index(), config.train.steps);
    const at::Tensor norm = adam.step(lr, scaler);  // equal on all ranks, unless they average weights
    guard.check(step, norm);  // if a gradient was not finite, Adam left the weights alone and the run ends
    step.enter(Stage::comm);
    sent += weights.average_when_due(step.index());
    step.leave();
    step.finish({.loss = loss,
                 .learning_rate = lr,
                 .gradient_norm = norm,
                 .samples = batch.size(),
                 .epoch = batch.epoch,
                 .sync = sent,
                 .error = compression.error_norms(step.index())});
    validate();  // after each epoch and at the end
    replica_check.compare_when_due();
    checkpoints.save_when_due();
  }
  if (run.stopped()) weights.average();
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  if (comm.rank() == 0) save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("11_compression", argc, argv, train, join_ranks); }
