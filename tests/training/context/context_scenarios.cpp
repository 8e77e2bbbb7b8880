// What each rank does in the tests of a model whose tokens are shared; the tests start these as processes.
#include <ATen/ops/equal.h>

#include <cmath>
#include <map>

#include "context/context_world.h"
#include "formula/tensor_parallel.h"
#include "launch/mesh.h"
#include "shard/sharded_states.h"
#include "support/made_fault.h"
#include "support/rank_scenarios.h"

namespace isobar::context_scenarios {

using namespace isobar::testing;

namespace {

/// 35 tokens, which 2, 3 and 4 ranks share unevenly; 12 heads.
constexpr VitShape kOddTokens = {
    .height = 20, .width = 28, .channels = 3, .patch = 4, .embed = 48, .depth = 3, .heads = 12};
/// 24 tokens.
constexpr VitShape kEvenTokens = {
    .height = 16, .width = 24, .channels = 3, .patch = 4, .embed = 48, .depth = 3, .heads = 12};
constexpr std::int64_t kSamples = 2;

struct Model {
  Model(const VitShape& shape, const FusionConfig& fusion, const TensorParallel& ranks,
        const ContextParallel& context, const std::vector<ModelStage>& held = {})
      : vit(parameters, shape, fusion, AttentionKind::automatic, ranks, held, context) {
    parameters.materialise(3, at::kCPU);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const {
    if (vit.held().size() == 1) return vit.loss(image, target);
    return vit.stage_loss(1, vit.stage_forward(0, image), target);
  }
  Parameters parameters;
  FusedVit vit;
};

/// What `key=value` words of a scenario set.
struct Setting {
  explicit Setting(const Words& words) {
    for (const std::string& word : words) {
      const std::size_t at = word.find('=');
      set[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  std::string text(const char* key, const char* usual) const {
    return set.count(key) > 0 ? set.at(key) : usual;
  }
  std::int64_t number(const char* key, std::int64_t usual) const {
    return set.count(key) > 0 ? std::stoll(set.at(key)) : usual;
  }
  VitShape shape() const { return text("tokens", "odd") == "odd" ? kOddTokens : kEvenTokens; }
  FusionConfig fusion() const { return text("fusion", "fused") == "fused" ? FusionConfig{} : kNoFusion; }
  Config config() const {
    Config out = config_of_vit(shape());
    out.comm = small_buckets(text("backend", "ring"), "buckets");
    out.mesh.tp = number("tp", 1);
    out.mesh.sequence_parallel = number("sp", 0) != 0;
    out.mesh.cp_comm = named<ContextForm>(text("way", "gather"));
    out.model.window = number("window", 0);
    return out;
  }
  std::vector<ModelStage> held() const {
    if (number("stages", 1) == 1) return {};
    return {{.first_block = 0, .end_block = 1, .embeds = true, .forecasts = false},
            {.first_block = 1, .end_block = 3, .embeds = false, .forecasts = true}};
  }
  std::map<std::string, std::string> set;
};

/// The ranks of a world of tp x cp, this one's model, and the one of one process.
struct World {
  explicit World(const Setting& setting)
      : config(setting.config()),
        all(joined(config.comm)),
        mesh(config.mesh.order,
             {.tp = static_cast<int>(config.mesh.tp), .cp = all.size() / static_cast<int>(config.mesh.tp)},
             all.size()),
        tp(all.part(mesh.groups("tp"), "tp")),
        cp(all.part(mesh.groups("cp"), "cp")),
        ranks(tp, config),
        context(cp, config),
        model(setting.shape(), setting.fusion(), ranks, context, setting.held()),
        whole(setting.shape(), setting.fusion(), {}, ContextParallel(one, config)) {}

  /// One step without an update; gradients are those of this rank afterwards.
  double gradients(AmpMode mode = AmpMode::none) {
    all.begin_step(all.step() + 1);
    const double loss = loss_and_gradients(model, mode, batch.first, batch.second).template item<double>();
    ranks.sum_partial_gradients(model.parameters);
    context.sum_partial_gradients(model.parameters);
    return loss;
  }
  /// The largest error of gradients in what is allowed: `share` of the tensor's largest or of a thousandth of
  /// the model's. Key biases, whose true gradient is zero, are left out.
  double gradient_error(double share) const {
    double worst = 0;
    const double floor = kGradientFloor * largest(whole.parameters.gradients());
    for (const Parameter& one_of : model.parameters.all()) {
      if (one_of.name.find("attn.k.bias") != std::string::npos) continue;
      const at::Tensor& exact = whole.parameters.find(one_of.name).tensor.grad();
      const std::int64_t size = exact.size(one_of.shard.dim) / one_of.shard.count;
      const at::Tensor expected = exact.narrow(one_of.shard.dim, one_of.shard.index * size, size);
      worst = std::max(
          worst, difference(one_of.tensor.grad(), expected) / (share * std::max(largest(exact), floor)));
    }
    return worst;
  }
  double forecast_error() const {
    const at::NoGradGuard no_grad;
    const at::Tensor expected = whole.vit(batch.first);
    return difference(model.vit(batch.first), expected) / (kPrediction * largest(expected));
  }
  /// What a step sends for shared tokens, in float32: attention, embeddings' gradients, norms, and the sum of
  /// gradients of blocks and the last norm.
  Sent planned_step() const {
    Sent out = planned(config, const_cast<Comm&>(cp), at::kFloat, kSamples);
    const std::int64_t c = cp.size(), depth = config.model.depth;
    std::int64_t longest = 0, summed = 0;
    for (const TokenShare& share : token_shares(model.vit.shape().tokens(), c))
      longest = std::max(longest, share.count);
    for (const Parameter& one_of : model.parameters.all())
      if (one_of.sums_over_cp) summed += one_of.tensor.numel();
    const std::int64_t gathered = (c - 1) * longest * kSamples * config.model.embed * 4;
    return {depth * out.bytes + 2 * gathered + 2 * (c - 1) * summed * 4 / c, depth * out.calls + 3};
  }

  Config config;
  Comm one;
  Comm all;
  Mesh mesh;
  Comm tp, cp;
  TensorParallel ranks;
  ContextParallel context;
  Model model, whole;
  std::pair<at::Tensor, at::Tensor> batch = joint_batch(model.vit.shape(), kSamples, 1);
};

/// What ranks of split layers send is of their own tokens.
void check_split_layers(World& world, Findings& findings) {
  const TensorParallelFigures sent = world.ranks.take_figures();
  if (world.config.mesh.sequence_parallel || world.tp.size() == 1) return;
  const VitShape& shape = world.model.vit.shape();
  const auto own =
      token_shares(shape.tokens(), world.cp.size()).at(static_cast<std::size_t>(world.cp.rank()));
  const TensorParallelForm form{.tp = world.tp.size(), .samples = kSamples, .tokens = own.count};
  const double planned = tensor_parallel_wire_bytes(shape, form);
  findings.check(
      static_cast<double>(sent.wire_bytes) == planned &&
          sent.calls == tensor_parallel_calls(shape, form) - 1,  // and one for the gradient's length
      fmt::format("split layers: {} bytes in {} messages, planned {}", sent.wire_bytes, sent.calls, planned));
}

/// Forecast, loss, gradients and what is sent, beside one process that has all tokens.
int run_equal(const Words& words) {
  const Setting setting(words);
  World world(setting);
  Findings findings;
  const double expected =
      loss_and_gradients(world.whole, AmpMode::none, world.batch.first, world.batch.second).item<double>();
  for (int step = 0; step < 2; ++step) {
    const double loss = world.gradients();
    findings.check(std::fabs(loss - expected) <= kLoss,
                   fmt::format("loss {:.9g}, alone {:.9g}", loss, expected));
    const double error = world.gradient_error(kGradient);
    findings.check(error <= 1, fmt::format("gradients are {:.3g} times too far off", error));
    const TensorParallelFigures figures = world.context.take_figures();
    const Sent planned = world.planned_step();
    findings.check(world.config.mesh.sequence_parallel ||
                       (figures.wire_bytes == planned.bytes && figures.calls == planned.calls),
                   fmt::format("{} bytes in {} messages, planned {} in {}", figures.wire_bytes, figures.calls,
                               planned.bytes, planned.calls));
    check_split_layers(world, findings);
    if (world.model.vit.held().size() > 1) continue;
    findings.check(world.forecast_error() <= 1, "the forecast is too far off");
    findings.check(world.context.take_figures().calls == 0 && world.context.waited_us() == 0,
                   "scoring between steps counts");
  }
  return findings.count();
}

/// Blocks that are computed again: gradients of a model that keeps all, to the bit. kind=, every=
int run_again(const Words& words) {
  const Setting setting(words);
  World world(setting);
  Findings findings;
  world.gradients();
  const at::Tensor kept = world.model.parameters.gradients().clone();
  world.model.vit.checkpoint(named<CheckpointKind>(setting.text("kind", "block")),
                             setting.number("every", 1));
  for (int step = 0; step < 2; ++step) {
    world.gradients();
    findings.check(at::equal(world.model.parameters.gradients(), kept), "gradients differ");
  }
  return findings.count();
}

/// Sixteen bits, beside one process in as many.
int run_half(const Words& words) {
  const Setting setting(words);
  World world(setting);
  Findings findings;
  const double expected =
      loss_and_gradients(world.whole, AmpMode::bf16, world.batch.first, world.batch.second).item<double>();
  const double loss = world.gradients(AmpMode::bf16);
  findings.check(std::fabs(loss - expected) <= kLossBf16, fmt::format("loss {}, alone {}", loss, expected));
  const double error = world.gradient_error(kBfloat16Chain);
  findings.check(error <= 1, fmt::format("gradients are {:.3g} times too far off", error));
  return findings.count();
}

/// Models side by side whose states are shared out: each rank has the sums of what it updates. zero=
int run_states(const Words& words) {
  const Setting setting(words);
  Config config = setting.config();
  config.mesh.zero = setting.number("zero", 1);
  Comm all = joined(config.comm);
  const Mesh mesh(config.mesh.order, {.cp = 2, .dp = all.size() / 2}, all.size());
  Comm cp = all.part(mesh.groups("cp"), "cp"), dp = all.part(mesh.groups("dp"), "dp"), one;
  const ContextParallel context(cp, config);
  Parameters parameters;
  FusedVit vit(parameters, setting.shape(), setting.fusion(), AttentionKind::automatic, {}, {}, context);
  ShardedStates states(parameters, dp, config);
  vit.watch_units(states);
  parameters.materialise(3, at::kCPU);
  Model whole(setting.shape(), setting.fusion(), {}, ContextParallel(one, config));
  const auto [images, targets] = joint_batch(setting.shape(), 2 * kSamples, 1);
  loss_and_gradients(whole, AmpMode::none, images, targets);
  Findings findings;
  for (int step = 0; step < 2; ++step) {
    all.begin_step(step);
    states.zero_gradients();
    vit.loss(strided(images, dp.rank(), dp.size()), strided(targets, dp.rank(), dp.size())).backward();
    states.exchange();
    context.sum_partial_gradients(parameters);
    std::int64_t seen = 0;
    for (const Parameter& one_of : parameters.all()) {
      if (one_of.name.find("attn.k.bias") != std::string::npos) continue;
      const at::Tensor exact = whole.parameters.find(one_of.name).tensor.grad().reshape({-1});
      const OwnStretch own = parameters.own_stretch(one_of);
      if (own.count == 0) continue;
      seen += own.count;
      const double floor = kGradientFloor * largest(whole.parameters.gradients());
      const double error =
          difference(parameters.own_gradients(one_of), exact.narrow(0, own.in_parameter, own.count)) /
          (kGradient * std::max(largest(exact), floor));
      findings.check(error <= 1, fmt::format("{}: {:.3g} times too far off", one_of.name, error));
    }
    findings.check(seen > 0, "this rank updates nothing");
    states.gather_weights();
  }
  return findings.count();
}

/// What a mistake makes wrong. fault=, wrong=
int run_fault(const Words& words) {
  const Setting setting(words);
  World world(setting);
  Findings findings;
  loss_and_gradients(world.whole, AmpMode::none, world.batch.first, world.batch.second);
  const MadeFault fault({.fault = named<Fault>(setting.text("fault", ""))});
  world.gradients();
  std::string wrong = world.forecast_error() > 1 ? "forecast" : "";
  const auto differs = [&](const char* name, double factor) {
    const at::Tensor& exact = world.whole.parameters.find(name).tensor.grad();
    return difference(world.model.parameters.find(name).tensor.grad(), exact * factor) >
           2 * kGradient * factor * largest(exact);
  };
  const double c = world.cp.size();
  if (differs("blocks.1.mlp.fc1.weight", 1)) wrong += "_blocks";
  if (differs("pos_embed", 1)) wrong += differs("pos_embed", c) ? "_positions" : "_positions-c-times";
  if (differs("head.weight", 1)) wrong += differs("head.weight", c) ? "_head" : "_head-c-times";
  findings.check(wrong == setting.text("wrong", ""), "it makes wrong: " + wrong);
  return findings.count();
}

/// Refused on every rank, before anything is sent. tokens of a model of one row, heads, what else
int run_refused(const Words& words) {
  const Setting setting(words);
  Comm comm = joined(small_buckets("ring", "buckets"));
  Config config = config_of_tokens(setting.number("row", 8), setting.number("heads", 4));
  config.mesh.cp_comm = named<ContextForm>(setting.text("way", "gather"));
  config.model.window = setting.number("window", 0);
  const ContextParallel context(comm, config);
  return 0;
}

const AddScenario kEqual{"equal", run_equal};
const AddScenario kAgain{"again", run_again};
const AddScenario kHalf{"half", run_half};
const AddScenario kStates{"states", run_states};
const AddScenario kFault{"fault", run_fault};
const AddScenario kRefused{"refused", run_refused};

}  // namespace

}  // namespace isobar::context_scenarios
