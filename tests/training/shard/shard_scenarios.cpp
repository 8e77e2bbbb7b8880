// What each rank does in the tests of shared states; the tests start these as processes.
#include <ATen/ops/equal.h>

#include <optional>

#include "config/fault.h"
#include "shard/shard_world.h"
#include "support/rank_scenarios.h"
#include "train/gradient_noise.h"
#include "train/gradient_sizes.h"

namespace isobar::shard_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

constexpr std::int64_t kSteps = 5;

/// Replicas that average gradients as lesson 06 does. With rounded weights each has float32 masters beside,
/// which it updates.
struct Replicated {
  Replicated(const ShardSetting& setting, Comm& comm, const TensorParallel& ranks)
      : vit(parameters, kSharedVit, setting.config.fusion, AttentionKind::automatic, ranks),
        half(WeightGathers::travels_as(setting.config)) {
    parameters.materialise(3, at::kCPU);
    if (half) masters = parameters.values().clone();
    round();
    sync = make_gradient_sync(parameters, comm, setting.config.comm);
    adam.emplace(parameters, setting.config.optim, setting.config.fusion, ranks);
    if (half) parameters.follow(masters);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const { return vit.loss(image, target); }
  void round() {
    if (half) at::Tensor(parameters.values()).copy_(parameters.values().to(*half));
  }
  at::Tensor update(double rate, GradScaler& scaler) {
    if (half) at::Tensor(parameters.values()).copy_(masters);
    const at::Tensor norm = adam->step(rate, scaler);
    if (half) masters.copy_(parameters.values());
    round();
    return norm;
  }

  Parameters parameters;
  FusedVit vit;
  std::optional<at::ScalarType> half;
  at::Tensor masters;
  std::unique_ptr<GradientSync> sync;
  std::optional<FusedAdam> adam;
};

/// The ranks of a mesh of tp x dp.
struct MeshWorld {
  explicit MeshWorld(const Config& config)
      : all(joined(config.comm)),
        mesh(config.mesh.order,
             {.tp = static_cast<int>(config.mesh.tp), .dp = all.size() / static_cast<int>(config.mesh.tp)},
             all.size()),
        models(all.part(mesh.groups("tp"), "tp")),
        replicas(all.part(mesh.groups("dp"), "dp")) {
    if (config.mesh.tp > 1) ranks = TensorParallel(models, config);
  }
  Comm all;
  Mesh mesh;
  Comm models, replicas;
  TensorParallel ranks;
};

/// Weights and moments of both, in what is allowed after the steps; 0 where all bits are equal.
double apart(const Replicated& expected, SharedModel& shared, const FusedAdam& adam, Comm& replicas) {
  std::map<std::string, at::Tensor> found = put_together(named_tensors(shared.parameters), replicas);
  found.merge(put_together(adam.moments(), replicas));
  std::vector<NamedTensor> all = named_tensors(expected.parameters);
  if (expected.half) all = moments_by_parameter(expected.parameters, expected.masters, expected.masters);
  double worst = 0;
  for (const NamedTensor& one : all) {
    std::string name = one.name;
    if (name.starts_with("exp_avg")) name = name.substr(name.find('.') + 1);
    if (replicas.rank() > 0 || at::equal(found.at(name), one.tensor)) continue;
    if (name.find("attn.k.bias") != std::string::npos) continue;
    const double allowed = kWeightsAfterTen * std::max(largest(one.tensor), 1e-3);
    worst = std::max(worst, difference(found.at(name), one.tensor) / allowed);
  }
  if (replicas.rank() > 0) return 0;
  std::int64_t moments = 0;
  for (const NamedTensor& one : expected.adam->moments()) {
    const double allowed = 1e-4 * largest(one.tensor) + 1e-12;
    const double error = difference(found.at(one.name), one.tensor) / allowed;
    if (one.name.find("attn.k.bias") == std::string::npos) worst = std::max(worst, error);
    ++moments;
  }
  return moments > 0 ? worst : 1e9;
}

/// Units of S (n - 1) / n that a step sends.
double units_of(const Config& config, std::int64_t accumulate) {
  const double gather = config.mesh.gather_dtype == GradBits::bits_16 ? 0.5 : 1;
  const auto passes = static_cast<double>(accumulate);
  switch (config.mesh.zero) {
    case 0:
      return 2;
    case 1:
      return 1 + gather;
    case 2:
      return passes + gather;
    default:
      return passes * (1 + gather * (config.mesh.reshard ? 2 : 1));
  }
}

/// Steps beside those of lesson 06. equal [key=value ...] [bits]
int run_equal(const Words& words) {
  const ShardSetting setting(words);
  const bool to_the_bit = words.back() == "bits";
  const Config& config = setting.config;
  MeshWorld world(config);
  Comm& replicas = world.replicas;
  Findings findings;
  Replicated expected(setting, replicas, world.ranks);
  SharedModel shared(kSharedVit, config.fusion, replicas, config, world.ranks);
  FusedAdam adam(shared.parameters, config.optim, config.fusion, world.ranks);
  GradScaler scaler(config.amp, at::kCPU), expected_scaler(config.amp, at::kCPU);
  const double bytes = 4.0 * static_cast<double>(count_of(expected.parameters));
  for (std::int64_t step = 0; step < kSteps; ++step) {
    expected.parameters.zero_gradients();
    const double expected_loss = backward_passes(expected, *expected.sync, setting, expected_scaler,
                                                 replicas.rank(), replicas.size(), step);
    expected.sync->finish(world.ranks);
    world.ranks.sum_partial_gradients(expected.parameters);
    const GradientHistogram sizes = gradient_sizes(expected.parameters);
    const at::Tensor expected_norm = expected.update(config.optim.lr, expected_scaler);

    shared.states.zero_gradients();
    const double loss =
        backward_passes(shared, shared.states, setting, scaler, replicas.rank(), replicas.size(), step);
    SyncFigures sent = shared.states.finish(world.ranks);
    world.ranks.sum_partial_gradients(shared.parameters);
    if (to_the_bit) {
      findings.check(sizes.counts == gradient_sizes(shared.parameters).counts,
                     fmt::format("step {}: sizes of gradients differ", step));
    }
    const at::Tensor norm = adam.step(config.optim.lr, scaler);
    sent += shared.states.gather_weights();

    findings.check(std::fabs(loss - expected_loss) <= kLoss,
                   fmt::format("step {}: loss {:.9g}, expected {:.9g}", step, loss, expected_loss));
    const double length = norm.item<double>(), expected_length = expected_norm.item<double>();
    findings.check(step == setting.overflow_step || std::fabs(length / expected_length - 1) < 1e-4,
                   fmt::format("step {}: |g| {:.9g}, expected {:.9g}", step, length, expected_length));
    const double units = static_cast<double>(sent.wire_bytes - sent.tp_wire_bytes) /
                         (bytes * (replicas.size() - 1) / replicas.size());
    const double wanted = units_of(config, setting.accumulate);
    findings.check(units >= wanted * 0.999 && units <= wanted * 1.05,
                   fmt::format("step {}: {:.4f} units sent, not {}", step, units, wanted));
    findings.check(sent.total_us > 0, "no time passed");
  }
  const double error = apart(expected, shared, adam, replicas);
  findings.check(error <= (to_the_bit ? 0 : 1), fmt::format("weights are {:.3g} times too far off", error));
  findings.check(adam.steps() == kSteps - (setting.overflow_step >= 0 ? 1 : 0),
                 fmt::format("{} updates", adam.steps()));
  return findings.count();
}

/// A forecast between steps, which nobody differentiates. forecast [key=value ...]
int run_forecast(const Words& words) {
  const ShardSetting setting(words);
  Comm comm = joined(setting.config.comm);
  Findings findings;
  const FusedModel expected(kSharedVit, setting.config.fusion);
  SharedModel shared(kSharedVit, setting.config.fusion, comm, setting.config);
  Config with_noise = setting.config;
  with_noise.train.noise_every = 1;
  bool is_refused = false;
  try {
    const NoiseProbe noise(shared.parameters, comm, with_noise);
  } catch (const Error& error) {
    is_refused = error.code() == Exit::bad_input;
  }
  findings.check(is_refused, "noise is measured on shares");
  const at::NoGradGuard no_grad;
  const at::Tensor image = made_up_fields(kSharedVit, 2, 5);
  for (int pass = 0; pass < 2; ++pass) {
    findings.check(at::equal(shared.vit(image), expected.vit(image)), "forecasts differ");
    for (const ParameterBucket& bucket : shared.parameters.buckets())
      findings.check(!bucket.values.has_memory() && !bucket.gradients.has_memory(), "memory is left");
  }
  return findings.count();
}

/// What the mistakes show. mistake NAME [key=value ...]
int run_mistake(const Words& words) {
  const ShardSetting setting({words.begin() + 1, words.end()});
  const Config& config = setting.config;
  Comm comm = joined(config.comm);
  Findings findings;
  SharedModel right(kSharedVit, config.fusion, comm, config);
  make_fault({.fault = named<Fault>(words.at(0))});
  SharedModel wrong(kSharedVit, config.fusion, comm, config);
  const auto train = [&](SharedModel& model, Fault fault) {
    make_fault({.fault = fault});
    FusedAdam adam(model.parameters, config.optim, config.fusion);
    GradScaler scaler(config.amp, at::kCPU);
    double norm = 0;
    for (std::int64_t step = 0; step < 3; ++step) {
      model.states.zero_gradients();
      backward_passes(model, model.states, setting, scaler, comm.rank(), comm.size(), step);
      model.states.finish();
      norm = adam.step(config.optim.lr, scaler).item<double>();
      model.states.gather_weights();
      if (step == 0) findings.check(norm > 0, "no gradient");
    }
    return put_together(named_tensors(model.parameters), comm);
  };
  const std::map<std::string, at::Tensor> expected = train(right, Fault::none);
  const std::map<std::string, at::Tensor> found = train(wrong, named<Fault>(words.at(0)));
  std::int64_t untouched = 0, off = 0;
  const FusedModel first(kSharedVit, config.fusion);
  for (const auto& [name, tensor] : found) {
    off += at::equal(tensor, expected.at(name)) ? 0 : 1;
    untouched +=
        tensor.eq(first.parameters.find(name).tensor).logical_or_(tensor.eq(0)).sum().item<std::int64_t>();
  }
  findings.check(comm.rank() > 0 || off > 0, "the mistake shows nowhere");
  if (words.at(0) == "no_pad") {
    std::int64_t nobodys = 0;
    for (const ParameterBucket& bucket : wrong.parameters.buckets())
      nobodys += bucket.count - comm.size() * bucket.part;
    findings.check(nobodys > 0 && (comm.rank() > 0 || untouched >= nobodys / 2), "all values were trained");
  }
  if (words.at(0) == "stale_gather" && config.mesh.zero < 3)
    findings.check(!equal_on_ranks(comm, bits_of(wrong.parameters)), "all ranks have the same weights");
  if (words.at(0) != "stale_gather" && config.mesh.zero < 3)
    findings.check(equal_on_ranks(comm, bits_of(wrong.parameters)), "weights differ over ranks");
  return findings.count();
}

const AddScenario add_equal{"equal", run_equal};
const AddScenario add_forecast{"forecast", run_forecast};
const AddScenario add_mistake{"mistake", run_mistake};

}  // namespace
}  // namespace isobar::shard_scenarios
