// Stages of a model, and weight gradients that are put off, in one process.
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "core/text.h"
#include "device/cpu_allocator.h"
#include "device/memory_ledger.h"
#include "fused/functions.h"
#include "fused/weight_gradients.h"
#include "pipeline/pipeline_world.h"
#include "support/begin.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar {

int begin_tests() {
  at::set_num_threads(1);
  return 0;
}

}  // namespace isobar

namespace isobar::test_stages {

using namespace isobar::testing;

namespace {

/// Blocks 0 to 2, 3, and 4 to 7.
const std::vector<ModelStage> kThree = {{0, 3, true, false}, {3, 4, false, false}, {4, 8, false, true}};

Config config_with(const FusionConfig& fusion, const std::string& words = "") {
  Config out = pipe_config(split(words, ' '));
  out.fusion = fusion;
  return out;
}

std::vector<std::string> names_of(const Parameters& parameters) {
  std::vector<std::string> out;
  for (const Parameter& one : parameters.all()) out.push_back(one.name);
  return out;
}

/// The stages behind each other; each backward starts from what the one behind gave.
double through_stages(std::deque<PipeModel>& models, const Batch& batch) {
  std::vector<at::Tensor> in = {batch.input}, out;
  for (std::size_t i = 0; i < models.size(); ++i) {
    models[i].parameters.zero_gradients();
    const bool last = i + 1 == models.size();
    out.push_back(last ? models[i].vit.stage_loss(0, in[i], batch.target)
                       : models[i].vit.stage_forward(0, in[i]));
    if (!last) in.push_back(out[i].detach().requires_grad_(true));
  }
  for (std::size_t i = models.size(); i-- > 0;)
    i + 1 == models.size() ? out[i].backward() : out[i].backward(in[i + 1].grad());
  return out.back().item<double>();
}

std::deque<PipeModel> three_models(const Config& config) {
  std::deque<PipeModel> out;  // models do not move
  for (const ModelStage& stage : kThree) out.emplace_back(config, TensorParallel{}, std::vector{stage});
  return out;
}

/// Writes down who is called.
class UnitCalls : public UnitWatch {
 public:
  void begin_forward(std::size_t unit) override { calls += "+" + std::to_string(unit) + " "; }
  void end_forward(std::size_t unit) override { calls += "-" + std::to_string(unit) + " "; }
  void begin_backward(std::size_t unit) override { calls += "<" + std::to_string(unit) + " "; }
  at::Tensor cast(const at::Tensor& leaf, at::ScalarType type) override { return leaf.detach().to(type); }
  std::string calls;
};

/// A step of a pipeline of one rank.
double alone(const Config& config, PipeModel& model, SyncFigures* figures = nullptr) {
  Comm comm;
  Pipeline pipeline(model.vit, comm, config);
  GradScaler scaler(config.amp, at::kCPU);
  const double loss = pipe_step(pipeline, model.parameters, pipe_batch(config, 0), scaler);
  if (figures != nullptr) *figures = pipeline.figures();
  return loss;
}

}  // namespace

TEST_CASE("stages declare what they hold, by the names and with the first values of the whole model") {
  const Config config = config_with({});
  PipeModel whole(config, {});
  std::vector<std::string> all;
  const std::deque<PipeModel> models = three_models(config);
  for (const PipeModel& model : models) {
    for (const std::string& name : names_of(model.parameters)) all.push_back(name);
    for (const Parameter& one : model.parameters.all())
      CHECK(at::equal(one.tensor, whole.parameters.find(one.name).tensor));
  }
  CHECK(all == names_of(whole.parameters));
  const PipeModel ends(config, {}, {kThree[0], kThree[2]});
  const std::vector<std::string> both = names_of(ends.parameters);
  CHECK(both.front() == "pos_embed");
  CHECK(both.back() == "head.weight");
  CHECK(std::count(both.begin(), both.end(), "blocks.3.norm1.weight") == 0);
  const auto units = model_units(ends.parameters);
  CHECK(units.size() == 9);
  CHECK(units[4].name == "blocks.4");
}

TEST_CASE("stages behind each other are the model, with each fusion and each way to compute again") {
  const Batch batch = pipe_batch(config_with({}), 0);
  for (const auto& [name, fusion] : model_fusions()) {
    for (const std::string kind : {"none", "block", "cheap", "selective"}) {
      INFO(name << ", " << kind);
      const Config config = config_with(fusion, "checkpoint=" + kind + " every=2");
      PipeModel whole(config, {});
      GradScaler scaler(config.amp, at::kCPU);
      const double expected = plain_step(whole, config, batch, scaler);
      std::deque<PipeModel> models = three_models(config);
      CHECK(std::abs(through_stages(models, batch) - expected) <= kLoss);
      for (const PipeModel& model : models) {
        const GradientsBeside gradients = beside(model.parameters, whole.parameters);
        CHECK(gradients.error <= 1);
        if (fusion.residual_norm) CHECK(gradients.other_bits == "");
      }
    }
  }
}

TEST_CASE("who watches units is called by their numbers among what is held") {
  const Config config = config_with({});
  PipeModel model(config, {}, {kThree[0], kThree[2]});
  UnitCalls watch;
  model.vit.watch_units(watch);
  const Batch batch = pipe_batch(config, 0);
  const at::Tensor stream = model.vit.stage_forward(0, batch.input);
  CHECK(watch.calls == "+0 +1 -0 +2 -1 +3 -2 -3 ");
  watch.calls.clear();
  stream.backward(at::ones_like(stream));
  CHECK(watch.calls == "<3 <2 <1 <0 ");
  watch.calls.clear();
  model.vit.stage_loss(1, stream.detach().requires_grad_(true), batch.target).backward();
  CHECK(watch.calls == "+4 +5 -4 +6 -5 +7 -6 +8 -7 -8 <8 <7 <6 <5 <4 ");
}

TEST_CASE("passes of a step share one 16-bit copy of the weights") {
  const Config config = config_with({}, "amp=bf16");
  PipeModel model(config, {});
  const Batch batch = pipe_batch(config, 0);
  const Autocast autocast(AmpMode::bf16, at::kCPU);
  const at::NoGradGuard no_grad;
  const auto forecast = [&] { return model.vit(batch.input).to(at::kFloat); };
  const at::Tensor before = forecast();
  model.vit.share_cast(true);
  CHECK(at::equal(forecast(), before));
  const at::Tensor fc1 = model.parameters.find("blocks.0.mlp.fc1.weight").tensor.detach();
  fc1.mul_(2);
  CHECK(at::equal(forecast(), before));
  model.vit.share_cast(false);
  CHECK_FALSE(at::equal(forecast(), before));
}

TEST_CASE(
    "weight gradients that are put off come with W alone, to the bit, and activations last until then") {
  use_fitting_cpu_blocks();  // these are entered in the ledger
  const auto kept = [] {
    return host_ledger().held()[static_cast<std::size_t>(MemoryCategory::activations)];
  };
  constexpr std::int64_t kRows = 96, kInputs = 24, kOutputs = 40;
  for (const bool has_bias : {true, false}) {
    std::vector<at::Tensor> weights, biases, gradients;
    for (const bool is_split : {false, true}) {
      at::manual_seed(5);
      const at::Tensor weight = at::randn({kOutputs, kInputs}).requires_grad_(true);
      const at::Tensor bias = at::randn({kOutputs}).requires_grad_(true);
      weight.mutable_grad() = at::ones_like(weight).detach();
      bias.mutable_grad() = at::ones_like(bias).detach();
      const std::uint64_t before = kept();
      const auto later = std::make_shared<WeightGradients>();
      std::optional<MemoryScope> scope(MemoryCategory::activations);
      at::Tensor x = at::randn({kRows, kInputs}).requires_grad_(true);
      std::optional<PutOff> put_off;
      if (is_split) put_off.emplace(later);
      at::Tensor y = linear(x, {weight, weight}, has_bias ? Weight{bias, bias} : Weight{});
      put_off.reset();
      y.backward(at::randn({kRows, kOutputs}));
      scope.reset();
      y.reset();
      gradients.push_back(x.grad().clone());
      x.reset();
      CHECK(later->empty() != is_split);
      if (is_split) {
        CHECK(weight.grad().eq(1).all().item<bool>());
        CHECK(bias.grad().eq(1).all().item<bool>());
        CHECK(kept() - before == 4 * kRows * (2 * kInputs + kOutputs));  // x with its gradient, and dy
      }
      later->run();
      CHECK(later->empty());
      CHECK(kept() == before);
      weights.push_back(weight.grad());
      biases.push_back(bias.grad());
    }
    CHECK(at::equal(weights[0], weights[1]));
    CHECK(at::equal(biases[0], biases[1]));
    CHECK(at::equal(gradients[0], gradients[1]));
    CHECK_FALSE(weights[0].eq(1).all().item<bool>());
  }
}

TEST_CASE("between I and W a stage keeps what its layers take, and the gradients of what they give") {
  const Config config = config_with({});
  PipeModel model(config, {}, {{2, 5, false, false}});
  const at::Tensor in = at::randn({kPipeSamples * kPipeVit.tokens(), kPipeVit.embed}).requires_grad_(true);
  const at::Tensor gradient = at::randn(in.sizes());
  const auto later = std::make_shared<WeightGradients>();
  use_fitting_cpu_blocks();
  const std::uint64_t before = host_ledger().total();
  {
    const PutOff put_off(later);
    model.vit.stage_forward(0, in).backward(gradient);
  }
  in.mutable_grad().reset();
  // norm1, attention, norm2 and the hidden layer's 4 E; gradients of q, k and v, proj, fc1's 4 E and fc2.
  CHECK(host_ledger().total() - before == 3 * 16 * in.nbytes());
  later->run();
  CHECK(host_ledger().total() == before);
}

TEST_CASE("a pipeline of one rank is the plain loop over micro-batches, and sends nothing") {
  for (const std::string words : {"m=1", "m=4", "m=4 form=gpipe", "m=4 form=zb_h1", "m=4 fusion=plain",
                                  "m=4 amp=fp16", "m=4 checkpoint=block amp=bf16"}) {
    INFO(words);
    const Config config = pipe_config(split(words, ' '));
    PipeModel model(config, {}), whole(config, {});
    GradScaler scaler(config.amp, at::kCPU);
    const double expected = plain_step(whole, config, pipe_batch(config, 0), scaler);
    SyncFigures figures;
    CHECK(std::abs(alone(config, model, &figures) - expected) <= kLoss);
    CHECK(beside(model.parameters, whole.parameters).other_bits == "");
    CHECK(figures.calls == 0);
    CHECK(figures.pipe_calls == 0);
    CHECK(figures.pipe_bytes == 0);
    CHECK(figures.pipe_kept == (config.mesh.schedule == PipelineForm::gpipe ? 4 : 1));
    CHECK(figures.pipe_busy_us > 0);
    CHECK(figures.pipe_us >= figures.pipe_busy_us);
  }
}

TEST_CASE("what no pipeline can do is refused") {
  Comm comm;
  Config config = pipe_config({"m=4"});
  PipeModel model(config, {});
  Pipeline pipeline(model.vit, comm, config);
  GradScaler scaler(config.amp, at::kCPU);
  Batch batch = pipe_batch(config, 0);
  batch.input = batch.input.narrow(0, 0, 6);
  CHECK_THAT(error_of([&] { pipeline.begin(batch); }),
             says("6 samples cannot be cut in 4 micro-batches of one size") && says("train.accumulate"));
  pipeline.begin(pipe_batch(config, 0));
  const PipelineAction second = pipeline.actions()[1];
  CHECK_THAT(failure_of([&] { pipeline.receive(second); }), says("it is not the turn of 0B0"));
  CHECK_THAT(failure_of([&] { pipeline.backward(second, {}, scaler); }),
             says("0B0 comes before its forward pass"));
  const Config two = pipe_config({"pp=2", "m=4"});
  CHECK_THAT(error_of([&] { Pipeline(model.vit, comm, two); }),
             says("a schedule of 2 ranks for 1") && says("mesh.pp=1"));
  const Config again = pipe_config({"m=4", "form=zb_h1", "checkpoint=block"});
  CHECK_THAT(error_of([&] { Pipeline(model.vit, comm, again); }),
             says("gradients of weights are put off") && says("model.checkpoint=none"));
  const PipeModel part(config, {}, {kThree[0], kThree[1]});
  CHECK_THAT(failure_of([&] { Pipeline(part.vit, comm, config); }),
             says("the model has other stages than the schedule"));
  CHECK_THAT(failure_of([&] { part.vit(batch.input); }),
             says("this process has stages of the model, which forecast in turn"));
}

}  // namespace isobar::test_stages
