// Run:   ./isobar run 16_context_parallel --ranks 2 --set mesh.cp=2, then ./isobar show last --timeline
// Watch: what ranks send each other in attention, by mesh.cp_comm, and how long each of them waits.
// Next:  set model.window=9 and double the ranks: what rank 0 sends in attention stays (show last --picture).
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "model/tensor_parallel.h"
#include "pipeline/pipeline.h"  // with FusedVit and ContextParallel
#include "run/run.h"            // Run, Recorder, Step, Checkpoints
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
  Comm& stages = run.group("pp");                   // they have its blocks, one behind the other
  Comm& replicas = run.group("dp");                 // they hold the same piece of it and average gradients
  const TensorParallel ranks(model_ranks, config);  // f and g: what they send each other inside a layer
  const ContextParallel context(run.group("cp"), config);  // these share its tokens, by mesh.cp_comm

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
  FusedVit model(parameters, vit_shape(config), config.fusion, config.model.attention, ranks,
                 stages_here(stages, config), context);  // attention, cut and union send through it
  model.checkpoint(config.model.checkpoint, config.model.checkpoint_every);  // backward computes these again
  ShardedStates states(parameters, run.group("shard"), config, &run.group("copies"));  // mesh.zero = 0, 1
  parameters.materialise(config.train.seed, run.device());  // draws whole tensors, then keeps its pieces
  run.first_weights(parameters);                            // drawn at random, or read from train.init
  broadcast_weights(parameters, run.group("dp-cp"));  // all that hold the same ones, whatever their tokens
  const auto adam = make_optimizer(parameters, config, ranks, &stages);  // one length, that of all stages
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  Pipeline pipeline(model, stages, config);     // who does what when, by mesh.schedule
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
    const auto forecast = [&](const at::Tensor& image) { return pipeline.forecast(image); };
    recorder.record(mean_over_ranks(
        evaluate(forecast, valid_set, valid_loader, run.device(), recorder.live("validating")), replicas));
  };
  validate();
  while (run.goes_on()) {  // until all steps are done, or a stop is requested
    Step step = recorder.begin_step();
    step.enter(Stage::load);  // all micro-batches of the step
    const Batch batch = next_batches(loader, config.train.accumulate).to(run.device());
    states.zero_gradients();  // micro-batches add to them
    pipeline.begin(batch);
    for (const PipelineAction& next : pipeline.actions()) {  // this rank's row of the schedule
      step.enter(Stage::comm);                               // idle until what it works on is there
      at::Tensor in = pipeline.receive(next), out;
      step.enter(next.work == PipelineWork::forward ? Stage::forward : Stage::backward);
      if (next.work == PipelineWork::forward)
        out = pipeline.forward(next, in);  // the last stage ends with the micro-batch's share of the loss
      else if (next.work == PipelineWork::weight)
        pipeline.weights(next);  // gradients of weights that backward put off
      else
        out = pipeline.backward(next, in, scaler);  // from the loss, or from the next stage's gradient
      pipeline.send(next, out);                     // it travels while this rank continues
    }
    step.enter(Stage::comm);
    const at::Tensor loss = pipeline.finish();  // the last stage's, on all of them
    SyncFigures sent = states.exchange(ranks);  // gradients of its share are those of all replicas
    ranks.sum_partial_gradients(parameters);    // with mesh.sequence_parallel
    context.sum_partial_gradients(parameters);  // those of blocks: each rank has its tokens' part
    sent += pipeline.figures();                 // with what the context sent
    recorder.record_gradient_sizes(step);
    step.enter(Stage::optimize);
    const double lr = learning_rate(config.schedule, peak, step.index(), config.train.steps);
    const at::Tensor norm = adam->step(lr, scaler);  // the length over all stages, equal on all ranks
    guard.check(step, norm);  // if a gradient was not finite, Adam left the weights alone and the run ends
    step.enter(Stage::comm);
    sent += states.gather_weights();  // stages 1 and 2: each replica gets what the others updated
    step.finish({.loss = loss,
                 .learning_rate = lr,
                 .gradient_norm = norm,
                 .samples = batch.size(),
                 .epoch = batch.epoch,
                 .sync = sent});
    validate();  // after each epoch and at the end
    replica_check.compare_when_due();
    checkpoints.save_when_due();
  }
  if (run.stopped()) checkpoints.save();  // --resume continues from it

  // ---- Report --------------------------------------------------------------------------------------------
  save_weights(parameters, run.folder() / "weights.safetensors", model_ranks, &stages);  // whole again
}

int main(int argc, char** argv) { return run_lesson("16_context_parallel", argc, argv, train, join_ranks); }
