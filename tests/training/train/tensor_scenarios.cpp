// What each rank does in the tests of layers that are split over ranks; the tests start these as processes.
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <optional>

#include "faults/rank_fault.h"
#include "formula/tensor_parallel.h"
#include "launch/mesh.h"
#include "support/rank_scenarios.h"
#include "train/named_tensors.h"
#include "train/sync_world.h"

namespace isobar::tensor_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

/// 4 heads for up to 4 ranks; 15 tokens, so that shares of them end within samples.
constexpr VitShape kSplitVit = {
    .height = 12, .width = 20, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 4};
constexpr std::int64_t kSamples = 4;  // of each model in a step
const OptimConfig kOptim{.lr = 1e-3};

struct SplitModel {
  SplitModel(const VitShape& shape, const FusionConfig& fusion, const TensorParallel& ranks)
      : vit(parameters, shape, fusion, AttentionKind::automatic, ranks) {
    parameters.materialise(3, at::kCPU);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const { return vit.loss(image, target); }
  Parameters parameters;
  FusedVit vit;
};

/// The ranks of a world of tp x dp, and the model's pieces on this one.
struct World {
  World(const std::string& backend, int tp, bool shares_tokens, const FusionConfig& fusion,
        const FaultSetting& fault = {})
      : config(configured(backend, tp, shares_tokens)),
        all(joined(config.comm)),
        mesh(config.mesh.order, {.tp = tp, .dp = all.size() / tp}, all.size()),
        model_ranks(all.part(mesh.groups("tp"), "tp")),
        replicas(all.part(mesh.groups("dp"), "dp")),
        ranks(model_ranks, config),
        model(shape(), fusion, ranks) {
    all.set_seam(rank_fault(fault, 1));
  }

  static VitShape shape() {
    VitShape out = kSplitVit;
    if (has_fault(Fault::norm_eps)) out.norm_eps = 1e-5;
    return out;
  }
  static Config configured(const std::string& backend, int tp, bool shares_tokens) {
    Config out;
    out.comm = small_buckets(backend, "buckets");
    out.mesh.tp = tp;
    out.mesh.sequence_parallel = shares_tokens;
    return out;
  }

  /// One backward pass on this model's samples of the joint batch; gives its loss.
  double gradients(GradientSync& sync, const std::pair<at::Tensor, at::Tensor>& joint, SyncFigures* figures) {
    model.parameters.zero_gradients();
    sync.begin();
    const at::Tensor loss = model.loss(mine(joint.first), mine(joint.second));
    sync.backward(loss);
    *figures = sync.finish(ranks);
    ranks.sum_partial_gradients(model.parameters);
    return loss.item<double>();
  }
  at::Tensor mine(const at::Tensor& joint) { return strided(joint, replicas.rank(), replicas.size()); }

  Config config;
  Comm all;
  Mesh mesh;
  Comm model_ranks, replicas;
  TensorParallel ranks;
  SplitModel model;
};

/// Whole gradients (or values) of a split model, put into `whole`; true on the first rank of each model.
bool gather_into(World& world, Parameters& whole, bool gradients) {
  std::vector<NamedTensor> pieces;
  for (const Parameter& one : world.model.parameters.all())
    pieces.push_back({one.name, gradients ? one.tensor.grad() : one.tensor.detach(), one.shard});
  const std::vector<NamedTensor> found = gathered(pieces, world.model_ranks);
  if (world.model_ranks.rank() != 0) return false;
  const at::NoGradGuard no_grad;
  for (const NamedTensor& one : found) {
    const at::Tensor place = whole.find(one.name).tensor;
    at::Tensor(gradients ? place.grad() : place.detach()).copy_(one.tensor);
  }
  return true;
}

/// What every rank of a model has whole, as bytes.
std::string whole_bits(const Parameters& parameters) {
  std::string out;
  for (const Parameter& one : parameters.all()) {
    const at::Tensor values = one.tensor.detach().contiguous();
    if (one.shard.count == 1) out.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  }
  return out;
}

double weight_error(const Parameters& ours, const Parameters& reference) {
  double worst = 0;
  for (const Parameter& one : reference.all()) {
    if (one.name.find("attn.k.bias") != std::string::npos) continue;
    const double allowed = kWeightsAfterTen * std::max(largest(one.tensor), 1e-3);
    worst = std::max(worst, difference(ours.find(one.name).tensor, one.tensor) / allowed);
  }
  return worst;
}

/// Of the forecast of this model's samples, in what is allowed; 0 without a `whole` one. All ranks forecast.
double forecast_error(World& world, const at::Tensor& images, const PlainModel* whole) {
  const at::NoGradGuard no_grad;
  const at::Tensor forecast = world.model.vit(world.mine(images));
  if (whole == nullptr) return 0;
  const at::Tensor expected = whole->vit(world.mine(images));
  return difference(forecast, expected) / (kPrediction * largest(expected));
}

FusionConfig fusion_of(const std::string& name) { return name == "fused" ? FusionConfig{} : kNoFusion; }

/// The first weights, the forecast, and ten Adam steps, beside one process that has all of the model and the
/// joint batch. equal BACKEND TP tokens|whole fused|plain
int run_equal(const Words& words) {
  const int tp = std::stoi(words.at(1));
  const bool shares = words.at(2) == "tokens";
  World world(words.at(0), tp, shares, fusion_of(words.at(3)));
  Findings findings;
  PlainModel alone(kSplitVit), probe(kSplitVit), whole(kSplitVit);
  if (gather_into(world, whole.parameters, /*gradients=*/false))
    findings.check(bits_of(whole.parameters) == bits_of(alone.parameters), "first weights differ");
  const auto sync = make_gradient_sync(world.model.parameters, world.replicas, world.config.comm);
  FusedAdam adam(world.model.parameters, kOptim, FusionConfig{}, world.ranks);
  FusedAdam alone_adam(alone.parameters, kOptim, FusionConfig{});
  GradScaler scaler(AmpConfig{}, at::kCPU);
  for (std::int64_t step = 0; step < 10; ++step) {
    const auto joint = joint_batch(kSplitVit, kSamples * world.replicas.size(), step);
    // Each piece is gathered by a message of its own: not in every step, where losses and lengths are
    // compared.
    const bool gathers = step < 2 || step == 9;
    const bool checks = gathers && gather_into(world, probe.parameters, /*gradients=*/false);
    const double off = gathers ? forecast_error(world, joint.first, checks ? &probe : nullptr) : 0;
    findings.check(off <= 1, fmt::format("step {}: the forecast is {:.3g} times too far off", step, off));
    world.all.begin_step(step);
    SyncFigures figures;
    const double mine = world.gradients(*sync, joint, &figures);
    const TensorParallelForm form{.tp = tp, .samples = kSamples, .shares_tokens = shares};
    const double planned = tensor_parallel_wire_bytes(kSplitVit, form);
    const auto sent = static_cast<double>(figures.tp_wire_bytes);
    // What follows the averaging is counted with the next step.
    findings.check(step == 0 || std::fabs(sent - planned) <= 0.01 * planned,
                   fmt::format("{} bytes sent, planned {}", sent, planned));
    findings.check(step == 0 || figures.tp_calls == tensor_parallel_calls(kSplitVit, form),
                   fmt::format("{} collectives", figures.tp_calls));
    if (checks) loss_and_gradients(probe, AmpMode::none, joint.first, joint.second);
    if (gathers) gather_into(world, whole.parameters, /*gradients=*/true);
    const double error = checks ? gradient_error(whole.parameters, probe.parameters) : 0;
    findings.check(error <= 1, fmt::format("step {}: gradients are {:.3g} times too far off", step, error));
    const double length = adam.step(kOptim.lr, scaler).item<double>();
    const double expected =
        loss_and_gradients(alone, AmpMode::none, joint.first, joint.second).item<double>();
    const double alone_length = alone_adam.step(kOptim.lr, scaler).item<double>();
    findings.check(
        std::fabs(length - alone_length) <= 1e-4 * alone_length,
        fmt::format("step {}: the gradient's length is {:.9g}, alone {:.9g}", step, length, alone_length));
    double mean = 0;
    for (const double loss : world.all.all_gather_numbers(mine, "losses")) mean += loss / world.all.size();
    findings.check(std::fabs(mean - expected) <= kLoss,
                   fmt::format("step {}: loss {:.9g}, alone {:.9g}", step, mean, expected));
    findings.check(equal_on_ranks(world.model_ranks, whole_bits(world.model.parameters)),
                   fmt::format("step {}: what all ranks of a model have differs", step));
    findings.check(equal_on_ranks(world.replicas, bits_of(world.model.parameters)),
                   fmt::format("step {}: replicas of a piece differ", step));
  }
  if (gather_into(world, whole.parameters, /*gradients=*/false)) {
    const double error = weight_error(whole.parameters, alone.parameters);
    findings.check(error <= 1, fmt::format("weights are {:.3g} times too far off after ten steps", error));
  }
  return findings.count();
}

/// Blocks of split layers that are computed again: gradients are those of a model that keeps all, to the bit.
/// again BACKEND TP tokens|whole fused|plain KIND EVERY
int run_again(const Words& words) {
  World world(words.at(0), std::stoi(words.at(1)), words.at(2) == "tokens", fusion_of(words.at(3)));
  const auto sync = make_gradient_sync(world.model.parameters, world.replicas, world.config.comm);
  SyncFigures figures;
  const auto gradients = [&](std::int64_t step) {
    world.all.begin_step(step);
    world.gradients(*sync, joint_batch(kSplitVit, kSamples * world.replicas.size(), 1), &figures);
    return world.model.parameters.gradients().clone();
  };
  gradients(0);  // behind it the buckets are laid out in their order
  const at::Tensor kept = gradients(1);
  const std::int64_t calls = figures.tp_calls;
  world.model.vit.checkpoint(named<CheckpointKind>(words.at(4)), std::stoi(words.at(5)));
  Findings findings;
  for (std::int64_t step = 2; step < 4; ++step) {
    findings.check(at::equal(gradients(step), kept), fmt::format("step {}: gradients differ", step));
    // Sums inside of what is computed again are made again.
    findings.check((figures.tp_calls > calls) == (world.model_ranks.size() > 1 && words.at(6) == "more"),
                   fmt::format("{} collectives, {} without", figures.tp_calls, calls));
  }
  return findings.count();
}

/// Sixteen bits: all ranks skip a step when one piece overflows, and stay equal. half BACKEND TP MODE
/// GRAD_DTYPE
int run_half(const Words& words) {
  const int tp = std::stoi(words.at(1));
  World world(words.at(0), tp, false, FusionConfig{});
  world.config.mesh.grad_dtype = named<GradBits>(words.at(3));
  const TensorParallel ranks(world.model_ranks, world.config);
  SplitModel model(kSplitVit, FusionConfig{}, ranks);
  PlainModel alone(kSplitVit);
  Findings findings;
  const AmpConfig amp{.mode = named<AmpMode>(words.at(2)), .init_scale = 1024};
  GradScaler scaler(amp, at::kCPU);
  FusedAdam adam(model.parameters, kOptim, FusionConfig{}, ranks);
  for (std::int64_t step = 0; step < 6; ++step) {
    const auto joint = joint_batch(kSplitVit, kSamples, step);
    model.parameters.zero_gradients();
    Autocast autocast(amp.mode, at::kCPU);
    const at::Tensor loss = model.loss(joint.first, joint.second);
    autocast.end();
    scaler.scale(loss).backward();
    if (step == 0) {
      const double expected = alone.loss(joint.first, joint.second).item<double>();
      findings.check(std::fabs(loss.item<double>() - expected) <= kLossHalf * expected,
                     "the loss is far off");
    }
    const bool overflows = step == 3;
    const at::Tensor piece = model.parameters.find("blocks.1.mlp.fc1.weight").tensor.grad();
    if (overflows && world.model_ranks.rank() == tp - 1) piece.view(-1)[5].fill_(INFINITY);
    const std::string before = bits_of(model.parameters);
    adam.step(kOptim.lr, scaler);
    findings.check((bits_of(model.parameters) == before) == overflows,
                   fmt::format("step {}: skipped or not", step));
    findings.check(equal_on_ranks(world.model_ranks, whole_bits(model.parameters)),
                   fmt::format("step {}: what all ranks have differs", step));
  }
  findings.check(adam.steps() == 5, fmt::format("{} updates", adam.steps()));
  return findings.count();
}

/// What a mistake does to the forecast, the gradients or the first weights. fault NAME TP
int run_fault(const Words& words) {
  const FaultSetting fault{.fault = named<Fault>(words.at(0))};
  make_fault(fault);
  World world("ring", std::stoi(words.at(1)), false, FusionConfig{}, fault);
  Findings findings;
  PlainModel probe(kSplitVit), whole(kSplitVit);
  const bool checks = gather_into(world, probe.parameters, /*gradients=*/false);
  const auto joint = joint_batch(kSplitVit, kSamples, 1);
  if (words.at(0) == "bias_before_reduce") {  // biases start from zero: no mistake would show
    for (Parameters* const parameters : {&world.model.parameters, &probe.parameters}) {
      for (const Parameter& one : parameters->all())
        if (one.name.ends_with("fc2.bias"))
          one.tensor.detach()[0].fill_(0.5);  // LayerNorm forgets a common one
    }
  }
  const auto sync = make_gradient_sync(world.model.parameters, world.replicas, world.config.comm);
  SyncFigures figures;
  world.gradients(*sync, joint, &figures);
  const at::NoGradGuard no_grad;
  const at::Tensor forecast = world.model.vit(joint.first);
  gather_into(world, whole.parameters, /*gradients=*/true);
  if (!checks) return 0;
  {
    const at::AutoGradMode with_grad(true);
    loss_and_gradients(probe, AmpMode::none, joint.first, joint.second);
  }
  const at::Tensor expected = probe.vit(joint.first);
  const bool forecast_wrong = difference(forecast, expected) > kPrediction * largest(expected);
  const bool gradients_wrong = gradient_error(whole.parameters, probe.parameters) > 1;
  PlainModel fresh(kSplitVit);
  const bool start_wrong = bits_of(probe.parameters) != bits_of(fresh.parameters);
  const std::string is = fmt::format("{}{}{}", start_wrong ? "start " : "", forecast_wrong ? "forecast " : "",
                                     gradients_wrong ? "gradients" : "");
  findings.check(is == words.at(2), words.at(0) + " makes wrong: " + is);
  return findings.count();
}

const AddScenario kEqual{"equal", run_equal};
const AddScenario kAgain{"again", run_again};
const AddScenario kHalf{"half", run_half};
const AddScenario kFault{"fault", run_fault};

}  // namespace

}  // namespace isobar::tensor_scenarios
