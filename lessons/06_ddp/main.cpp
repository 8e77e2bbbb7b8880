// Run:   ./isobar run 06_ddp --ranks 2, then again with --set comm.sync=at_end
// Watch: ./isobar show last --timeline: buckets beside backward, and what is left of them in the stage comm.
// Next:  07_tensor_parallel, where a layer is split over ranks.
#include "data/dataset.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "data/sampler.h"
#include "model/fused_vit.h"
#include "model/parameters.h"
#include "run/run.h"
#include "train/autocast.h"
#include "train/evaluate.h"
#include "train/fused_adam.h"
#include "train/grad_scaler.h"
#include "train/gradient_sync.h"
#include "train/replicas.h"
#include "train/schedule.h"
#include "train/training_state.h"
#include "train/weights.h"

using namespace isobar;

/// Forward and backward, micro-batch by micro-batch. Gradients leave in buckets while the last backward pass
/// goes on.
static StepResult compute_gradients(Run& run, Step& step, Loader& loader, const FusedVit& model,
                                    const GradScaler& scaler, GradientSync& sync) {
  const Config& config = run.config();
  StepResult result;
  for (std::int64_t left = config.train.accumulate; left > 0; --left) {
    step.enter(Stage::load);  // the stream waits for the upload if it must; the host does not
    const Batch batch = loader.next().to(run.device());
    step.enter(Stage::forward);
    sync.begin(/*last_micro_batch=*/left == 1);        // no other backward pass communicates
    Autocast autocast(config.amp.mode, run.device());  // products in 16 bits; weights, norms, loss in fp32
    const at::Tensor loss = model.loss(batch.input, batch.target).div(config.train.accumulate);
    autocast.end();  // backward belongs outside: it takes the types that forward took
    step.enter(Stage::backward);
    sync.backward(scaler.scale(loss));  // last layer first: each bucket leaves as soon as it is full
    result.loss = result.loss.defined() ? result.loss.add(loss.detach()) : loss.detach();
    result.samples += batch.size();
    result.epoch = batch.epoch;
  }
  return result;
}

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
  if (!config.train.init.empty()) load_weights(parameters, config.train.init);
  if (!config.train.save_init.empty() && comm.rank() == 0) save_weights(parameters, config.train.save_init);
  broadcast_weights(parameters, comm);                                  // equal starts ...
  const auto sync = make_gradient_sync(parameters, comm, config.comm);  // ... and equal gradients
  FusedAdam adam(parameters, config.optim, config.fusion);
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  const double peak = peak_learning_rate(config);              // grows with the batch, by schedule.lr_rule
  const Training training{parameters, adam, loader, &scaler};  // what a checkpoint holds

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_set, valid_set, parameters.count(), loader);
  run.resume(training);  // goes on where the run that --resume names left off
  const auto validate = [&] {
    if (!run.scores_due()) return;
    const Autocast autocast(config.amp.mode, run.device());
    run.record(mean_over_ranks(
        evaluate(model, valid_set, valid_loader, run.device(), run.progress("validating")), comm));
  };
  validate();
  while (run.goes_on(training)) {  // saves a checkpoint when one is due
    Step step = run.begin_step();
    parameters.zero_gradients();
    StepResult result = compute_gradients(run, step, loader, model, scaler, *sync);
    step.enter(Stage::comm);  // what backward could not hide
    result.sync = sync->finish();
    step.enter(Stage::optimize);
    result.learning_rate = learning_rate(config.schedule, peak, step.index(), config.train.steps);
    result.gradient_norm =
        adam.step(result.learning_rate, scaler);  // the same on all ranks, as the weights are
    step.finish(result);
    validate();  // after each epoch and at the end
  }

  // ---- Report --------------------------------------------------------------------------------------------
  if (comm.rank() == 0) save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("06_ddp", argc, argv, train, join_ranks); }
