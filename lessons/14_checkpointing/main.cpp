// Run:   ./isobar run 14_checkpointing, then again with --set model.checkpoint=none
// Watch: the memory of a rank, the time of backward, and HFU beside MFU.
// Next:  15_pipeline, where ranks hold different blocks, and what is kept depends on the order of work.
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "model/fused_vit.h"
#include "model/parameters.h"
#include "model/tensor_parallel.h"
#include "run/run.h"  // Run, Recorder, Step, Checkpoints
#include "samples/sampler.h"
#include "shard/sharded_states.h"
#include "train/autocast.h"
#include "train/evaluate.h"
#include "train/grad_scaler.h"
#include "train/make_optimizer.h"  // Adam, by optim.name and mesh.offload
#include "train/replicas.h"        // broadcast_weights, mean_over_ranks
#include "train/schedule.h"        // learning_rate, peak_learning_rate
#include "train/training_state.h"  // Training
#include "train/weights.h"         // save_weights

using namespace isobar;

static void train(Run& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const Config& config = run.config();
  Comm& model_ranks = run.group("tp");              // they share one model and see the same samples
  Comm& replicas = run.group("dp");                 // they hold the same piece of it and average gradients
  const TensorParallel ranks(model_ranks, config);  // f and g: what they send each other inside a layer

  // ---- Data ----------------------------------------------------------------------------------------------
  const Dataset train_set(config.data, run.data_root(), "train", config.data.limit_train);
  const Dataset valid_set(config.data, run.data_root(), "valid", config.data.limit_valid);
  const Sampler sampler(train_set.size(), config.data.shuffle, config.data.seed, replicas.rank(),
                        replicas.size(), config.data.shard);
  const Sampler in_order = Sampler::in_order(valid_set.size(), replicas.rank(), replicas.size());
  RingLoader ring(train_set, sampler, config, run.device(), run.spans());
  RingLoader valid_ring(valid_set, in_order, config, run.device(), run.spans(), Passes::single);
  DevicePrefetch loader(ring, config.loader);
  DevicePrefetch valid_loader(valid_ring, config.loader);

  // ---- Model ---------------------------------------------------------------------------------------------
  Parameters parameters;
  FusedVit model(parameters, vit_shape(config), config.fusion, config.model.attention, ranks);
  model.checkpoint(config.model.checkpoint, config.model.checkpoint_every);  // backward computes these again
  model.dropout(config.model.dropout);                                       // with the same random numbers
  // Which replica keeps what, by mesh.zero: neighbours share one set of states, "copies" own the same share.
  ShardedStates states(parameters, run.group("shard"), config, &run.group("copies"));
  model.watch_units(states);  // stage 3: weights come before a block, and go behind
  parameters.materialise(config.train.seed, run.device());  // draws whole tensors, then keeps its pieces
  run.first_weights(parameters);                            // drawn at random, or read from train.init
  broadcast_weights(parameters, replicas);
  const auto adam = make_optimizer(parameters, config, ranks);  // updates its share, has moments of it
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  const double peak = peak_learning_rate(config);               // grows with the batch, by schedule.lr_rule
  const Training training{parameters, *adam, loader, &scaler};  // what a checkpoint holds

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
        evaluate(model, valid_set, valid_loader, run.device(), recorder.live("validating")), replicas));
  };
  validate();
  while (run.goes_on()) {  // until all steps are done, or a stop is requested
    Step step = recorder.begin_step();
    at::Tensor loss;
    std::int64_t samples = 0, epoch = 0;
    for (std::int64_t part = 1; part <= config.train.accumulate; ++part) {  // micro-batches of one step
      step.enter(Stage::load);  // the stream waits for the upload if it must; the host does not
      Batch batch = loader.next();
      step.enter(Stage::copy);
      batch = batch.to(run.device());
      samples += batch.size();
      epoch = batch.epoch;
      step.enter(Stage::forward);
      if (part == 1) states.zero_gradients();  // the others add to them
      states.begin(/*last_micro_batch=*/part == config.train.accumulate);
      Autocast autocast(config.amp.mode, run.device());  // products in 16 bits; weights, norms, loss in fp32
      const at::Tensor share = model.loss(batch.input, batch.target).div(config.train.accumulate);
      autocast.end();  // backward belongs outside: it takes the types that forward took
      step.enter(Stage::backward);
      states.backward(scaler.scale(share));  // a block's forward pass again, then its gradients
      loss = part == 1 ? share.detach() : loss.add(share.detach());
    }
    step.enter(Stage::comm);                  // what backward could not hide
    SyncFigures sent = states.finish(ranks);  // gradients of its share are those of all replicas
    ranks.sum_partial_gradients(parameters);  // where ranks share the tokens (mesh.sequence_parallel)

    recorder.record_gradient_sizes(step);
    step.enter(Stage::optimize);
    const double lr = learning_rate(config.schedule, peak, step.index(), config.train.steps);
    const at::Tensor norm = adam->step(lr, scaler);  // the length of all shares, equal on all ranks
    guard.check(step, norm);  // if a gradient was not finite, Adam left the weights alone and the run ends
    step.enter(Stage::comm);
    sent += states.gather_weights();  // stages 1 and 2: each replica gets what the others updated
    step.finish({.loss = loss,
                 .learning_rate = lr,
                 .gradient_norm = norm,
                 .samples = samples,
                 .epoch = epoch,
                 .sync = sent});
    validate();  // after each epoch and at the end
    replica_check.compare_when_due();
    checkpoints.save_when_due();
  }
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  save_weights(parameters, run.folder() / "weights.safetensors", model_ranks);  // whole again
}

int main(int argc, char** argv) { return run_lesson("14_checkpointing", argc, argv, train, join_ranks); }
