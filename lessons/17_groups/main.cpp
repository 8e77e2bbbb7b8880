// Run:   ./isobar run 17_groups --ranks 4 --set mesh.gpus_per_model=2 --set data.read_group=2
// Watch: bytes that each rank reads; with mesh.members_per_device=4 the spread beside the error of the mean.
// Next:  set train.rollout=4: the loss of four forecasts, each from the one before, and its gradient.
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "model/tensor_parallel.h"
#include "pipeline/pipeline.h"  // with FusedVit, ContextParallel and Objective
#include "run/run.h"            // Run, Recorder, Step, Checkpoints
#include "samples/sampler.h"
#include "shard/sharded_states.h"
#include "train/evaluate.h"
#include "train/grad_scaler.h"
#include "train/make_optimizer.h"  // Adam, by optim.name and mesh.offload
#include "train/replicas.h"        // broadcast_weights, mean_over_ranks
#include "train/schedule.h"        // learning_rate, peak_learning_rate
#include "train/shared_reading.h"
#include "train/training_state.h"  // Training
#include "train/weights.h"         // save_weights

using namespace isobar;

static void train(Run& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const Config& config = run.config();
  Comm& stages = run.group("pp");                       // they have its blocks, one behind the other
  const TensorParallel ranks(run.group("tp"), config);  // f and g: what they send each other inside a layer
  const ContextParallel context(run.group("cp"), config);  // these share its tokens, by mesh.cp_comm
  Comm& data = run.group("data");     // models, or ensembles of models, that see samples of their own
  Comm& readers = run.group("read");  // each reads a band of latitudes for all of its model
  const LatitudeBand band{readers.rank(), readers.size()};
  const Objective objective(run.group("ens"), config);  // CRPS of the members of these models; rollouts

  // ---- Data ----------------------------------------------------------------------------------------------
  const Dataset train_band(config.data, run.data_root(), "train", config.data.limit_train, band,
                           config.train.rollout);
  const Dataset valid_band(config.data, run.data_root(), "valid", config.data.limit_valid, band,
                           config.train.rollout);
  const Sampler sampler(train_band.size(), config.data.shuffle, config.data.seed, data.rank(), data.size(),
                        config.data.shard);
  const Sampler in_order = Sampler::in_order(valid_band.size(), data.rank(), data.size());
  RingLoader ring(train_band, sampler, config, run.device(), run.spans());
  RingLoader valid_ring(valid_band, in_order, config, run.device(), run.spans(), Passes::single);
  DevicePrefetch bands(ring, config.loader), valid_bands(valid_ring, config.loader);
  SharedReading loader(bands, train_band, readers, run.device());  // whole fields again
  SharedReading valid_loader(valid_bands, valid_band, readers, run.device());

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
  const double peak = peak_learning_rate(config);  // grows with the batch, by schedule.lr_rule
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  Pipeline pipeline(model, stages, config, objective);          // who does what when, by mesh.schedule
  const Training training{parameters, *adam, loader, &scaler};  // what a checkpoint holds

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_band, valid_band, training);
  Recorder& recorder = run.recorder();  // writes steps and scores to the run folder
  GradientGuard& guard = run.guard();
  ReplicaCheck replica_check = run.replica_check(parameters);
  Checkpoints checkpoints = run.checkpoints(training);
  checkpoints.resume();  // continues the run that --resume names
  const auto validate = [&] {
    if (!recorder.scores_due()) return;
    const auto members = [&](const Batch& batch) { return pipeline.forecast_members(batch); };
    recorder.record(mean_over_ranks(
        evaluate(members, valid_band, valid_loader, run.device(), recorder.live("validating")), data));
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
      const at::Tensor in = pipeline.receive(next);
      step.enter(next.work == PipelineWork::forward ? Stage::forward : Stage::backward);
      pipeline.send(next, pipeline.compute(next, in, scaler));  // backward begins with the objective
    }
    step.enter(Stage::comm);
    const at::Tensor loss = pipeline.finish();  // the last stage's, on all of them
    SyncFigures sent = states.exchange(ranks);  // gradients of its share are those of all replicas
    ranks.sum_partial_gradients(parameters);    // with mesh.sequence_parallel
    context.sum_partial_gradients(parameters);  // those of blocks: each rank has its tokens' part
    sent += pipeline.figures();                 // with what context and ensemble sent
    sent += loader.take_figures();              // bands of fields
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
  save_weights(parameters, run.folder() / "weights.safetensors", run.group("tp"), &stages);  // whole again
}

int main(int argc, char** argv) { return run_lesson("17_groups", argc, argv, train, join_ranks); }
