// Blocks whose activations are computed again in backward, against those that keep them: gradients to the
// bit, bytes to the byte, who is called, and what goes wrong with each mistake.
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <map>

#include "core/text.h"
#include "device/autograd_calls.h"
#include "formula/recompute.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/live_bytes.h"
#include "support/made_fault.h"
#include "support/named.h"
#include "support/pairs.h"
#include "support/small_vit.h"
#include "support/tolerances.h"
#include "train/gradient_hooks.h"

namespace isobar::test_recompute {

using testing::named;

namespace {

constexpr VitShape kDeepVit = {
    .height = 12, .width = 20, .channels = 3, .patch = 4, .embed = 30, .depth = 3, .heads = 3};
constexpr std::int64_t kSamples = 2;

struct Way {
  std::string name;
  CheckpointKind kind = CheckpointKind::none;
  std::int64_t every = 1;
};
const std::vector<Way> kWays = {{"cheap", CheckpointKind::cheap},
                                {"selective", CheckpointKind::selective},
                                {"block", CheckpointKind::block},
                                {"block, two together", CheckpointKind::block, 2},
                                {"block, three together", CheckpointKind::block, 3}};
const Way kNone{"none"};

Way way_named(const std::string& name) {
  for (const Way& way : kWays)
    if (way.name == name) return way;
  return kNone;
}

Picks names_of(const std::vector<Way>& ways) {
  Picks out;
  for (const Way& way : ways) out.push_back(way.name);
  return out;
}

Picks names_of_fusions() {
  Picks out;
  for (const auto& [name, fusion] : model_fusions()) out.push_back(name);
  return out;
}

FusionConfig fusion_named(const std::string& wanted) {
  for (const auto& [name, fusion] : model_fusions())
    if (name == wanted) return fusion;
  return {};
}

at::Tensor generator_state() {
  return at::globalContext().defaultGenerator(c10::Device(c10::kCPU)).get_state();
}

/// Writes down who is called; casts are those of a model that nobody watches.
class CallList : public UnitWatch {
 public:
  void begin_forward(std::size_t unit) override { add("+", unit); }
  void end_forward(std::size_t unit) override { add("-", unit); }
  void begin_backward(std::size_t unit) override { add("<", unit); }
  at::Tensor cast(const at::Tensor& leaf, at::ScalarType type) override {
    const at::NoGradGuard no_grad;
    return leaf.to(type);
  }
  std::string calls;

 private:
  void add(const char* what, std::size_t unit) { calls += what + std::to_string(unit) + " "; }
};

struct Pass {
  at::Tensor loss, gradients, generator;
};

/// A backward pass from the same weights, batch and random state.
Pass pass(const Way& way, const FusionConfig& fusion, AmpMode mode, double dropout,
          UnitWatch* watch = nullptr) {
  FusedModel model(kDeepVit, fusion);
  spread(model.parameters);
  model.vit.checkpoint(way.kind, way.every);
  model.vit.dropout(dropout);
  if (watch != nullptr) model.vit.watch_units(*watch);
  const at::Tensor image = made_up_fields(kDeepVit, kSamples, 1),
                   target = made_up_fields(kDeepVit, kSamples, 2);
  const at::Tensor loss = loss_and_gradients(model, mode, image, target);
  return {loss, model.parameters.gradients().clone(), generator_state()};
}

bool equal(const Pass& a, const Pass& b) {
  return at::equal(a.loss, b.loss) && at::equal(a.gradients, b.gradients);
}

/// 16-bit weights: those that products take one by one, or all of them at once.
std::int64_t cast_bytes(const Parameters& parameters, bool plain) {
  if (!plain) return 2 * parameters.values().numel();
  std::int64_t out = 0;
  for (const Parameter& one : parameters.all())
    if (one.name.starts_with("blocks.") && one.tensor.dim() == 2) out += 2 * one.tensor.numel();
  return out;
}

/// Bytes that live between forward and backward, less the 16-bit weights.
std::int64_t kept_bytes(const VitShape& shape, const Way& way, const FusionConfig& fusion, AmpMode mode,
                        const KeptForm& form) {
  FusedModel model(shape, fusion);
  model.vit.checkpoint(way.kind, way.every);
  model.vit.dropout(form.dropout);
  const at::Tensor image = made_up_fields(shape, kSamples, 1), target = made_up_fields(shape, kSamples, 2);
  const LiveBytes bytes;
  Autocast autocast(mode, at::kCPU);
  const at::Tensor loss = model.loss(image, target);
  autocast.end();
  return bytes.now() - (mode == AmpMode::none ? 0 : cast_bytes(model.parameters, form.plain));
}

VitShape of_depth(std::int64_t depth) {
  VitShape out = kDeepVit;
  out.depth = depth;
  return out;
}

}  // namespace

TEST_CASE(
    "gradients are those of a model that keeps everything, to the bit: every way, fusion, type, dropout") {
  std::map<std::string, Pass> kept;
  for (const Picks& picks : pairs({names_of(kWays), names_of_fusions(), {"none", "bf16"}, {"0", "0.25"}})) {
    const std::string text = joined(picks, ", ");
    CAPTURE(text);
    const FusionConfig fusion = fusion_named(picks[1]);
    const auto mode = named<AmpMode>(picks[2]);
    const double dropout = std::stod(picks[3]);
    Pass& reference = kept[picks[1] + picks[2] + picks[3]];
    CallList watch;  // so that a model without fusions is not the plain one
    if (!reference.loss.defined()) reference = pass(kNone, fusion, mode, dropout, &watch);
    CHECK(largest(reference.gradients) > 0);
    const Pass again = pass(way_named(picks[0]), fusion, mode, dropout);
    CHECK(equal(again, reference));
    // Whoever draws next draws what he would have drawn.
    CHECK(at::equal(again.generator, reference.generator));
  }
}

TEST_CASE("without a fusion, what is computed again equals the plain model") {
  const Pass plain = pass(kNone, kNoFusion, AmpMode::none, 0);
  const Pass again = pass(kWays[2], kNoFusion, AmpMode::none, 0);
  CHECK(std::fabs(again.loss.item<double>() - plain.loss.item<double>()) <= kLoss);
  CHECK(difference(again.gradients, plain.gradients) <= kGradient * largest(plain.gradients));
}

TEST_CASE("blocks keep the bytes that were worked out, none more: every way, fusion and type") {
  const auto state = static_cast<std::int64_t>(generator_state().nbytes());
  Picks ways = names_of(kWays);
  ways.push_back("none");
  for (const Picks& picks : pairs({ways, names_of_fusions(), {"none", "bf16"}, {"0", "0.25"}})) {
    const std::string text = joined(picks, ", ");
    CAPTURE(text);
    const Way way = way_named(picks[0]);
    const auto mode = named<AmpMode>(picks[2]);
    const double dropout = std::stod(picks[3]);
    const KeptForm form{.kind = way.kind,
                        .every = way.every,
                        .value_bytes = mode == AmpMode::none ? 4 : 2,
                        .plain = picks[1] == "none" && way.kind == CheckpointKind::none && dropout == 0,
                        .dropout = dropout};
    const VitShape small = of_depth(way.every), large = of_depth(3 * way.every);
    const std::int64_t rows = kSamples * kDeepVit.tokens();
    const double worked_out = kept_by_blocks(form, large, rows) - kept_by_blocks(form, small, rows);
    const std::int64_t measured = kept_bytes(large, way, fusion_named(picks[1]), mode, form) -
                                  kept_bytes(small, way, fusion_named(picks[1]), mode, form);
    // Each function that draws keeps the generator's state.
    const bool draws = dropout > 0 && way.kind >= CheckpointKind::selective;
    const std::int64_t functions = draws ? 2 * (way.kind == CheckpointKind::block ? 1 : way.every) : 0;
    CHECK(static_cast<double>(measured - functions * state) == worked_out);
  }
}

TEST_CASE("the more is computed again, the lower is the peak of a step") {
  std::map<std::string, std::int64_t> peaks;
  for (const Way& way : {kNone, kWays[0], kWays[1], kWays[2]}) {
    FusedModel model(of_depth(8), {});
    model.vit.checkpoint(way.kind, way.every);
    const at::Tensor image = made_up_fields(kDeepVit, 8, 1), target = made_up_fields(kDeepVit, 8, 2);
    const LiveBytes bytes;
    loss_and_gradients(model, AmpMode::bf16, image, target);
    peaks[way.name] = bytes.most();
    CHECK(bytes.now() == 0);  // the graph is gone, and nothing that it held is left
  }
  CHECK(peaks["cheap"] < peaks["none"]);
  CHECK(peaks["selective"] < peaks["cheap"]);
  CHECK(peaks["block"] < peaks["selective"]);
}

TEST_CASE("each gradient is ready once") {
  for (const Way& way : kWays) {
    CAPTURE(way.name);
    FusedModel model(kDeepVit, {});
    model.vit.checkpoint(way.kind, way.every);
    std::vector<at::Tensor> leaves;
    for (const ParameterLeaf& leaf : model.parameters.leaves()) leaves.push_back(leaf.tensor);
    std::vector<int> times(leaves.size());
    const GradientHooks hooks(leaves, [&](std::size_t i) { ++times[i]; });
    loss_and_gradients(model, AmpMode::none, made_up_fields(kDeepVit, kSamples, 1),
                       made_up_fields(kDeepVit, kSamples, 2));
    CHECK(times == std::vector<int>(leaves.size(), 1));
  }
}

TEST_CASE("who watches the units is called again where a block is computed again") {
  const auto calls = [](const Way& way) {
    CallList watch;
    pass(way, {}, AmpMode::none, 0, &watch);
    return watch.calls;
  };
  const std::string forward = "+0 +1 -0 +2 -1 +3 -2 +4 -3 -4 ";
  CHECK(calls(kNone) == forward + "<4 <3 <2 <1 <0 ");
  CHECK(calls(kWays[0]) == forward + "<4 <3 <2 <1 <0 ");
  CHECK(calls(kWays[1]) == forward + "<4 <3 +3 <2 +2 <1 +1 <0 ");
  CHECK(calls(kWays[2]) == forward + "<4 <3 +3 <2 +2 <1 +1 <0 ");
  // The third block alone; of the first two, the second is left and entered again.
  CHECK(calls(kWays[3]) == forward + "<4 <3 +3 <2 +1 +2 -1 <1 <0 ");
  CHECK(calls(kWays[4]) == forward + "<4 <3 +1 +2 -1 +3 -2 <2 <1 <0 ");
}

TEST_CASE("dropout takes its share of each branch, scales the rest, and leaves validation alone") {
  FusedModel model(kDeepVit, {});
  spread(model.parameters);
  const at::Tensor image = made_up_fields(kDeepVit, kSamples, 1);
  const at::Tensor plain = model.vit(image).detach();
  model.vit.dropout(0.25);
  model.vit.checkpoint(CheckpointKind::block);
  const at::Tensor before = generator_state();
  {
    const at::NoGradGuard validation;
    CHECK(at::equal(model.vit(image), plain));
    CHECK(at::equal(generator_state(), before));
  }
  at::manual_seed(4);
  const at::Tensor dropped = model.vit(image).detach();
  CHECK_FALSE(at::equal(dropped, plain));
  CHECK_FALSE(at::equal(generator_state(), before));
  // Over many masks a forecast is near the one without, since what is left is scaled.
  at::Tensor mean = dropped.clone();
  constexpr int kMasks = 50;
  for (int i = 1; i < kMasks; ++i) mean.add_(model.vit(image).detach());
  mean.div_(kMasks);
  CHECK(difference(mean, plain) < 0.5 * difference(dropped, plain));
  model.vit.dropout(0);
  CHECK(at::equal(model.vit(image).detach(), plain));
}

TEST_CASE("what is computed again cannot be differentiated twice") {
  FusedModel model(kDeepVit, {});
  model.vit.checkpoint(CheckpointKind::block);
  const at::Tensor loss =
      model.loss(made_up_fields(kDeepVit, kSamples, 1), made_up_fields(kDeepVit, kSamples, 2));
  const std::vector<at::Tensor> leaves = {model.parameters.find("pos_embed").tensor};
  const auto twice = [&] {
    torch::autograd::grad({loss}, leaves, {}, std::nullopt, /*create_graph=*/true, /*allow_unused=*/false);
  };
  CHECK_THAT(failure_of(twice), Says("cannot be differentiated twice"));
}

TEST_CASE("no_rng_restore: other masks in backward than in forward, and the next ones are others too") {
  const auto with_fault = [](const Way& way, double dropout) {
    const MadeFault fault({.fault = Fault::no_rng_restore});
    return pass(way, {}, AmpMode::none, dropout);
  };
  for (const Way& way : {kWays[1], kWays[2]}) {
    CAPTURE(way.name);
    const Pass kept = pass(kNone, {}, AmpMode::none, 0.25), broken = with_fault(way, 0.25);
    CHECK(at::equal(broken.loss, kept.loss));  // the forward pass is right, which is why nobody sees it
    CHECK(difference(broken.gradients, kept.gradients) > 0.01 * largest(kept.gradients));
    CHECK_FALSE(at::equal(broken.generator, kept.generator));
    CHECK(equal(with_fault(way, 0), pass(kNone, {}, AmpMode::none, 0)));  // without dropout nothing is drawn
  }
}

TEST_CASE("no_autocast_restore: backward computes in float32 what forward computed in 16 bits") {
  const auto with_fault = [](const Way& way, AmpMode mode) {
    const MadeFault fault({.fault = Fault::no_autocast_restore});
    return pass(way, {}, mode, 0);
  };
  for (const Way& way : {kWays[1], kWays[2]}) {
    CAPTURE(way.name);
    const Pass kept = pass(kNone, {}, AmpMode::bf16, 0), broken = with_fault(way, AmpMode::bf16);
    CHECK(at::equal(broken.loss, kept.loss));
    CHECK_FALSE(at::equal(broken.gradients, kept.gradients));
    CHECK(difference(broken.gradients, kept.gradients) < 0.1 * largest(kept.gradients));  // hard to see
    CHECK(equal(with_fault(way, AmpMode::none), pass(kNone, {}, AmpMode::none, 0)));
  }
  const auto peak = [](bool is_broken) {
    const MadeFault fault({.fault = is_broken ? Fault::no_autocast_restore : Fault::none});
    FusedModel model(kDeepVit, {});
    model.vit.checkpoint(CheckpointKind::block);
    const at::Tensor image = made_up_fields(kDeepVit, 16, 1), target = made_up_fields(kDeepVit, 16, 2);
    const LiveBytes bytes;
    loss_and_gradients(model, AmpMode::bf16, image, target);
    return bytes.most();
  };
  CHECK(peak(true) > peak(false));
}

TEST_CASE("checkpoint_under_no_grad: blocks and what is in front of them get no gradient") {
  FusedModel model(kDeepVit, {});
  spread(model.parameters);
  model.vit.checkpoint(CheckpointKind::block);
  std::vector<at::Tensor> leaves;
  for (const ParameterLeaf& leaf : model.parameters.leaves()) leaves.push_back(leaf.tensor);
  std::vector<int> times(leaves.size());
  const GradientHooks hooks(leaves, [&](std::size_t i) { ++times[i]; });
  const MadeFault fault({.fault = Fault::checkpoint_under_no_grad});
  loss_and_gradients(model, AmpMode::none, made_up_fields(kDeepVit, kSamples, 1),
                     made_up_fields(kDeepVit, kSamples, 2));
  for (const Parameter& one : model.parameters.all()) {
    INFO(one.name);
    const bool is_behind = one.name.starts_with("norm.") || one.name.starts_with("head.");
    // The last block's last bias is added behind what is computed again.
    CHECK((largest(one.tensor.grad()) > 0) == (is_behind || one.name == "blocks.2.mlp.fc2.bias"));
  }
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (model.parameters.leaves()[i].name.find("attn") != std::string::npos) CHECK(times[i] == 0);
}

}  // namespace isobar::test_recompute
