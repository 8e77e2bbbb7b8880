// What each rank does in the tests of gradients over ranks; the tests start these as processes.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <cmath>
#include <numeric>

#include "config/fault.h"
#include "core/clock.h"
#include "faults/parameter_fault.h"
#include "faults/rank_fault.h"
#include "support/rank_scenarios.h"
#include "train/sync_world.h"

namespace isobar::sync_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

const OptimConfig kOptim{.lr = 1e-3};

template <class Model>
struct Replica {
  template <class... Arguments>
  Replica(Comm& comm, const CommConfig& config, const Arguments&... arguments)
      : model(arguments...), adam(start(model.parameters, comm), kOptim) {
    sync = make_gradient_sync(model.parameters, comm, config);
  }
  /// Each rank comes with weights of its own and leaves with those of rank 0.
  static Parameters& start(Parameters& parameters, Comm& comm) {
    parameters.materialise(3 + comm.rank(), at::kCPU);
    broadcast_weights(parameters, comm);
    return parameters;
  }
  Model model;
  Adam adam;
  std::unique_ptr<GradientSync> sync;
};

/// Steps over ranks, beside one process on the joint batch.
template <class Model, class... Arguments>
int steps_of(const CommConfig& config, std::int64_t accumulate, const Arguments&... arguments) {
  Comm comm = joined(config);
  Findings findings;
  findings.check(comm.backend() == name_of(config.backend), "the backend is " + comm.backend());
  Replica<Model> replica(comm, config, arguments...);
  Model alone(arguments...);  // goes its own way, on rank 0
  Adam adam(alone.parameters, kOptim);
  Model probe(arguments...);  // gets the replica's weights in each step
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto joint = joint_batch(kOddVit, 2 * comm.size() * accumulate, step);
    const bool checks =
        comm.rank() == 0 || comm.rank() == comm.size() - 1;  // gradients; weights are compared
    copy_weights(replica.model.parameters, probe.parameters);
    if (checks) loss_and_gradients(probe, AmpMode::none, joint.first, joint.second);
    SyncFigures figures;
    const double mine = synced_gradients(replica.model, *replica.sync, comm, joint, accumulate, &figures);
    const double error = checks ? gradient_error(replica.model.parameters, probe.parameters) : 0;
    findings.check(error <= 1, fmt::format("step {}: gradients are {:.3g} times too far off", step, error));
    const bool rebuilds = config.sync == SyncKind::reducer && step == 1;  // it sends its new order around
    findings.check(
        rebuilds || figures.calls == replica.sync->planned_calls(),
        fmt::format("step {}: {} calls, planned {}", step, figures.calls, replica.sync->planned_calls()));
    replica.adam.step(kOptim.lr);
    findings.check(equal_on_ranks(comm, bits_of(replica.model.parameters)),
                   fmt::format("step {}: weights differ over ranks", step));
    const std::vector<double> losses = comm.all_gather_numbers(mine, "losses");
    if (comm.rank() > 0) continue;
    const double expected =
        loss_and_gradients(alone, AmpMode::none, joint.first, joint.second).template item<double>();
    adam.step(kOptim.lr);
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / comm.size();
    findings.check(std::fabs(mean - expected) <= kLoss,
                   fmt::format("step {}: loss {:.9g}, alone {:.9g}", step, mean, expected));
  }
  return findings.count();
}

/// steps BACKEND SYNC MODEL ACCUMULATE [overlap=off]
int run_steps(const Words& words) {
  CommConfig config = small_buckets(words.at(0), words.at(1));
  config.overlap = words.size() < 5;
  const std::int64_t accumulate = std::stoll(words.at(3));
  if (words.at(2) == "plain") return steps_of<PlainModel>(config, accumulate, kOddVit);
  return steps_of<FusedModel>(config, accumulate, kOddVit, FusionConfig{});
}

/// Our buckets and the Reducer on the same gradients. bits BACKEND
int run_bits(const Words& words) {
  const CommConfig ours = small_buckets(words.at(0), "buckets");
  const CommConfig theirs = small_buckets(words.at(0), "reducer");
  Comm comm = joined(ours);
  Findings findings;
  Replica<FusedModel> a(comm, ours, kOddVit, FusionConfig{});
  Replica<FusedModel> b(comm, theirs, kOddVit, FusionConfig{});
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto joint = joint_batch(kOddVit, 2 * comm.size(), step);
    synced_gradients(a.model, *a.sync, comm, joint, 1);
    synced_gradients(b.model, *b.sync, comm, joint, 1);
    findings.check(bits_of(a.model.parameters, true) == bits_of(b.model.parameters, true),
                   fmt::format("step {}: gradients differ", step));
    a.adam.step(kOptim.lr);
    b.adam.step(kOptim.lr);
    findings.check(bits_of(a.model.parameters) == bits_of(b.model.parameters),
                   fmt::format("step {}: weights differ", step));
  }
  return findings.count();
}

/// The collectives of a step of cpu_tiny. plan BACKEND BUCKET_MB FIRST_MB CALLS
int run_plan(const Words& words) {
  constexpr VitShape kTiny = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};
  CommConfig config = small_buckets(words.at(0), "buckets");
  config.bucket_mb = std::stod(words.at(1));
  config.first_bucket_mb = std::stod(words.at(2));
  Comm comm = joined(config);
  Findings findings;
  Replica<PlainModel> replica(comm, config, kTiny);
  for (const std::int64_t expected : {std::int64_t{1}, std::stol(words.at(3))}) {
    SyncFigures figures;
    synced_gradients(replica.model, *replica.sync, comm, joint_batch(kTiny, comm.size(), 1), 1, &figures);
    findings.check(figures.calls == expected, fmt::format("{} calls", figures.calls));
    const std::int64_t ring = 2 * (comm.size() - 1) * count_of(replica.model.parameters) * 4 / comm.size();
    findings.check(figures.wire_bytes >= ring && figures.wire_bytes < ring * 1001 / 1000,
                   fmt::format("{} bytes sent, a ring sends {}", figures.wire_bytes, ring));
    findings.check(figures.total_us > 0, "no time passed");
  }
  config.sync = SyncKind::reducer;  // which cuts by the same rule
  Replica<PlainModel> peer(comm, config, kTiny);
  SyncFigures figures;
  for (int step = 0; step < 3; ++step)
    synced_gradients(peer.model, *peer.sync, comm, joint_batch(kTiny, comm.size(), 1), 1, &figures);
  findings.check(figures.calls == std::stol(words.at(3)),
                 fmt::format("{} calls of the Reducer", figures.calls));
  return findings.count();
}

/// Every size, order and way to hold buckets, beside one all-reduce at the end. Two ranks: their sum has the
/// same bits however it is cut. cuts BACKEND
int run_cuts(const Words& words) {
  CommConfig plain = small_buckets(words.at(0), "at_end");
  Comm comm = joined(plain);
  Findings findings;
  const auto joint = joint_batch(kOddVit, 2 * comm.size(), 0);
  Replica<FusedModel> at_end(comm, plain, kOddVit, FusionConfig{});
  synced_gradients(at_end.model, *at_end.sync, comm, joint, 1);
  const std::string expected = bits_of(at_end.model.parameters, true);
  for (const double mebibytes : {1e-6, 0.01, 0.03, 25.0}) {
    for (const BucketOrder order : {BucketOrder::ready, BucketOrder::reverse, BucketOrder::forward}) {
      for (const bool view : {true, false}) {
        CommConfig config = small_buckets(words.at(0), "buckets");
        config.bucket_mb = config.first_bucket_mb = mebibytes;
        config.bucket_order = order;
        config.bucket_view = view;
        Replica<FusedModel> replica(comm, config, kOddVit, FusionConfig{});
        std::int64_t before = 0, sent_early = 0;  // messages that left before the model's first gradient came
        replica.model.parameters.all().front().tensor.register_hook([&](const at::Tensor& gradient) {
          sent_early = comm.counts().calls - before;
          return gradient;
        });
        for (int step = 0; step < 3; ++step) {
          const std::string what = fmt::format("{} MiB, {}, {}, step {}", mebibytes, name_of(order),
                                               view ? "views" : "copies", step);
          SyncFigures figures;
          before = comm.counts().calls;
          synced_gradients(replica.model, *replica.sync, comm, joint, 1, &figures);
          findings.check(bits_of(replica.model.parameters, true) == expected, what + ": gradients differ");
          const bool one = mebibytes > 1 || (order == BucketOrder::ready && step == 0);
          const bool early = !one && order != BucketOrder::forward;
          findings.check((sent_early > 0) == early, fmt::format("{}: {} left early", what, sent_early));
          findings.check((figures.calls == 1) == one, fmt::format("{}: {} calls", what, figures.calls));
          if (order == BucketOrder::ready && step == 0) continue;
          findings.check(figures.calls == replica.sync->planned_calls(), what + ": calls are not as planned");
        }
      }
    }
  }
  return findings.count();
}

/// Ten steps in 16 bits. An infinite loss on the last rank makes all of them skip that step. half BACKEND
/// SYNC MODE
int run_half(const Words& words) {
  const CommConfig config = small_buckets(words.at(0), words.at(1));
  Comm comm = joined(config);
  Findings findings;
  FusedModel model(kOddVit, FusionConfig{});
  FusedAdam adam(model.parameters, kOptim, FusionConfig{});
  const AmpConfig amp{.mode = named<AmpMode>(words.at(2)), .init_scale = 1024};
  GradScaler scaler(amp, at::kCPU);
  const auto sync = make_gradient_sync(model.parameters, comm, config);
  for (std::int64_t step = 0; step < 10; ++step) {
    const auto joint = joint_batch(kOddVit, 2 * comm.size(), step);
    model.parameters.zero_gradients();
    sync->begin();
    Autocast autocast(amp.mode, at::kCPU);
    at::Tensor loss = model.loss(strided(joint.first, comm.rank(), comm.size()),
                                 strided(joint.second, comm.rank(), comm.size()));
    autocast.end();
    const bool overflows = step == 4;
    if (overflows && comm.rank() == comm.size() - 1) loss = loss.mul(INFINITY);
    sync->backward(scaler.scale(loss));
    sync->finish();
    const std::string before = bits_of(model.parameters);
    adam.step(kOptim.lr, scaler);
    findings.check((bits_of(model.parameters) == before) == overflows,
                   fmt::format("step {}: skipped or not", step));
    findings.check(equal_on_ranks(comm, bits_of(model.parameters)),
                   fmt::format("step {}: weights differ over ranks", step));
  }
  findings.check(adam.steps() == 9, fmt::format("{} updates", adam.steps()));
  const double scale = scaler.scale_value().item<double>();
  findings.check(!scaler.active() || scale == 512, fmt::format("scale {}", scale));
  return findings.count();
}

/// Six steps, and three that others go on from with a layout of their own. again BACKEND KERNEL
int run_again(const Words& words) {
  const CommConfig config = small_buckets(words.at(0), "buckets");
  Comm comm = joined(config);
  OptimConfig optim = kOptim;
  FusionConfig fusion;
  fusion.adam = words.at(1) != "plain";
  if (fusion.adam) optim.kernel = named<AdamKernel>(words.at(1));
  GradScaler scaler(AmpConfig{}, at::kCPU);
  const auto steps = [&](FusedModel& model, FusedAdam& adam, std::int64_t from) {
    const auto sync = make_gradient_sync(model.parameters, comm, config);
    for (std::int64_t step = from; step < from + 3; ++step) {
      synced_gradients(model, *sync, comm, joint_batch(kOddVit, 2 * comm.size(), step), 1);
      adam.step(kOptim.lr, scaler);
    }
  };
  FusedModel first(kOddVit, fusion);
  FusedAdam first_adam(first.parameters, optim, fusion);
  steps(first, first_adam, 0);
  FusedModel second(kOddVit, fusion);  // as a checkpoint would bring it back: by name
  FusedAdam second_adam(second.parameters, optim, fusion);
  copy_weights(first.parameters, second.parameters);
  const std::vector<NamedTensor> saved = first_adam.moments();
  const std::vector<NamedTensor> place = second_adam.moments();
  for (std::size_t i = 0; i < saved.size(); ++i) at::Tensor(place[i].tensor).copy_(saved[i].tensor);
  second_adam.set_steps(first_adam.steps());
  Findings findings;
  findings.check(first.parameters.layout_version() == 1, "was not laid out anew");
  findings.check(second.parameters.layout_version() == 0, "was laid out early");
  steps(first, first_adam, 3);
  steps(second, second_adam, 3);
  findings.check(bits_of(first.parameters) == bits_of(second.parameters), "weights differ");
  return findings.count();
}

/// What the mistakes do. fault BACKEND SYNC NAME
int run_fault(const Words& words) {
  const CommConfig config = small_buckets(words.at(0), words.at(1));
  const std::string name = words.at(2);
  Comm comm = joined(config);
  Findings findings;
  Replica<PlainModel> right(comm, config, kOddVit);
  const FaultSetting fault{.fault = named<Fault>(name), .ms = 150, .rank = 1, .own_rank = comm.rank()};
  make_fault(fault);
  Replica<PlainModel> wrong(comm, config, kOddVit);
  spoil(fault, wrong.model.parameters, comm.rank());
  const auto distance = [&] {  // of weights from those of rank 0
    const at::Tensor first = wrong.model.parameters.values().clone();
    comm.broadcast(first, 0, "weights").wait();
    return difference(first, wrong.model.parameters.values());
  };
  int passes = 0;  // backward passes of the wrong one that reached its first parameter
  wrong.model.parameters.all().front().tensor.register_hook([&passes](const at::Tensor&) { ++passes; });
  const double start = distance();
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto joint = joint_batch(kOddVit, 2 * comm.size(), step);
    comm.set_seam(rank_fault({}, comm.size()));
    synced_gradients(right.model, *right.sync, comm, joint, 1);
    comm.set_seam(rank_fault(fault, comm.size()));
    const at::Tensor begin_us = at::full({1}, steady_us(), at::kLong);
    synced_gradients(wrong.model, *wrong.sync, comm, joint, 1);
    const std::int64_t end_us = steady_us();
    // Machine-wide clock: whenever a rank began, it ends after the sleep of the slow one.
    comm.broadcast(begin_us, static_cast<int>(fault.rank), "begin").wait();
    const std::int64_t us = end_us - begin_us.item<std::int64_t>();
    const bool twice = name == "unequal_batch" && comm.rank() == 1;
    findings.check(std::exchange(passes, 0) == (twice ? 2 : 1), "backward passes of a step");
    if (name == "no_broadcast") {
      wrong.adam.step(kOptim.lr);
      continue;
    }
    const double factor = name == "sum_gradients" ? comm.size() : 1;
    const at::Tensor expected = right.model.parameters.gradients() * factor;
    findings.check(difference(wrong.model.parameters.gradients(), expected) <= 1e-6 * largest(expected),
                   fmt::format("step {}: gradients", step));
    findings.check(name != "slow_rank" || us >= 150'000, fmt::format("{} us", us));
  }
  if (name == "no_broadcast" && comm.rank() > 0) {
    findings.check(start > 0.01, fmt::format("weights begin {} apart", start));
    findings.check(std::fabs(distance() / start - 1) < 0.2, "they came together");
  } else {
    distance();
  }
  return findings.count();
}

/// Buffers and scores. replicas BACKEND
int run_replicas(const Words& words) {
  CommConfig config = small_buckets(words.at(0), "at_end");
  Comm comm = joined(config);
  Findings findings;
  PlainModel plain(kOddVit);
  config.broadcast_buffers = true;
  SyncFigures figures;
  const auto joint = joint_batch(kOddVit, comm.size(), 0);
  const auto without = make_gradient_sync(plain.parameters, comm, config);
  synced_gradients(plain, *without, comm, joint, 1, &figures);
  findings.check(figures.calls == 1, "a model without buffers costs nothing");
  PlainModel model(with_buffers(kOddVit));
  for (const Buffer& buffer : model.parameters.buffers()) at::Tensor(buffer.tensor).add_(comm.rank());
  findings.check(!equal_on_ranks(comm, buffer_bits(model.parameters)), "buffers are the same by themselves");
  broadcast_weights(model.parameters, comm);
  findings.check(equal_on_ranks(comm, buffer_bits(model.parameters)), "buffers begin apart");
  const auto with = make_gradient_sync(model.parameters, comm, config);
  for (int step = 0; step < 3; ++step) {
    synced_gradients(model, *with, comm, joint, 1, &figures);
    findings.check(figures.calls == 2, "one message for all buffers, whatever they are");
    findings.check(!equal_on_ranks(comm, buffer_bits(model.parameters)), "a step moved no buffer");
    with->share_buffers();
    findings.check(equal_on_ranks(comm, buffer_bits(model.parameters)),
                   "buffers are apart in a forward pass");
  }
  config.broadcast_buffers = false;
  const auto own = make_gradient_sync(model.parameters, comm, config);
  synced_gradients(model, *own, comm, joint, 1, &figures);
  findings.check(figures.calls == 1, "buffers are sent though nobody asked");
  own->share_buffers();
  findings.check(!equal_on_ranks(comm, buffer_bits(model.parameters)), "buffers came together by themselves");
  Evaluation mine;
  mine.complete = true;
  mine.samples = 1 + comm.rank();
  mine.loss = 10.0 * comm.rank();
  mine.channels = {{"u10m", 1.0 + comm.rank(), 2, 3, 4}};
  const Evaluation all = mean_over_ranks(mine, comm);
  double samples = 0, loss = 0, rmse = 0;
  for (int r = 0; r < comm.size(); ++r) {
    samples += 1 + r;
    loss += 10.0 * r * (1 + r);
    rmse += (1.0 + r) * (1 + r);
  }
  findings.check(all.complete && all.samples == std::llround(samples), "samples");
  findings.check(std::fabs(all.loss - loss / samples) < 1e-12, "loss");
  findings.check(std::fabs(all.headline().rmse - rmse / samples) < 1e-12, "rmse");
  findings.check(std::fabs(all.headline().acc - 4) < 1e-12, "acc");
  if (comm.rank() == comm.size() - 1) mine = {};
  findings.check(!mean_over_ranks(mine, comm).complete, "one incomplete, all incomplete");
  return findings.count();
}

const AddScenario add_ten_steps{"steps", run_steps};
const AddScenario add_bits{"bits", run_bits};
const AddScenario add_plan{"plan", run_plan};
const AddScenario add_cuts{"cuts", run_cuts};
const AddScenario add_half{"half", run_half};
const AddScenario add_again{"again", run_again};
const AddScenario add_fault{"fault", run_fault};
const AddScenario add_replicas{"replicas", run_replicas};

}  // namespace

}  // namespace isobar::sync_scenarios
