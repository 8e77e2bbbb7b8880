// Run:   ./isobar run 08_cuda_graphs, then with graph.enabled=false, and both with train.global_batch=1
// Watch: a step's host time against its device time: graphs pay where the host is the slower one.
// Next:  09_all_reduce, where what ranks say to each other is taken apart.
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
#include "train/schedule.h"
#include "train/step_graph.h"
#include "train/training_state.h"
#include "train/weights.h"

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
  if (!config.train.init.empty()) load_weights(parameters, config.train.init);
  if (!config.train.save_init.empty()) save_weights(parameters, config.train.save_init);
  FusedAdam adam(parameters, config.optim, config.fusion);
  GradScaler scaler(config.amp, run.device());  // for fp16, whose range is small; it leaves other modes alone
  const Training training{parameters, adam, loader, &scaler};  // what a checkpoint holds
  StepGraph graph(config.graph, adam, run.device(), [&](const GraphFacts& facts) { run.record(facts); });
  StepParts parts;  // what is recorded: no address in it may change, and the host takes no part
  parts.forward = [&](const Batch& batch) {
    parameters.zero_gradients();
    const Autocast autocast(config.amp.mode, run.device());
    return model.loss(batch.input, batch.target);
  };
  parts.backward = [&](const at::Tensor& loss) { scaler.scale(loss).backward(); };
  parts.optimize = [&] { return adam.update(scaler); };

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(train_set, valid_set, parameters.count(), loader);
  run.resume(training);  // goes on where train.resume left off, when it is given
  const auto validate = [&] {
    if (!run.scores_due()) return;
    const Autocast autocast(config.amp.mode, run.device());
    run.record(evaluate(model, valid_set, valid_loader, run.device(), run.progress("validating")));
  };
  validate();
  while (run.goes_on(training)) {  // saves a checkpoint when one is due
    Step step = run.begin_step();
    step.enter(Stage::load);  // the stream waits for the upload if it must; the host does not
    const Batch batch = loader.next();
    step.enter(Stage::copy);  // what is new goes to where the recording reads it
    const double lr = learning_rate(config.schedule, config.optim.lr, step.index(), config.train.steps);
    graph.renew(batch.to(run.device()), adam, lr);

    const auto [loss, norm] = graph.run(parts, [&](Stage stage) { step.enter(stage); });
    step.finish({loss, lr, norm, batch.size(), batch.epoch});
    validate();  // after each epoch and at the end
  }

  // ---- Report --------------------------------------------------------------------------------------------
  save_weights(parameters, run.folder() / "weights.safetensors");
}

int main(int argc, char** argv) { return run_lesson("08_cuda_graphs", argc, argv, train); }
