// A watched step of a small model: the same bits as unwatched, its operators by module, types under autocast.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <c10/core/ScalarType.h>

#include <set>

#include "device/operator_watch.h"
#include "model/fused_vit.h"
#include "model/relative_l2.h"
#include "model/vit.h"
#include "support/catch.h"
#include "train/adam.h"
#include "train/autocast.h"

namespace isobar::test_watched_step {

namespace {

const VitShape kShape{
    .height = 16, .width = 24, .channels = 3, .patch = 4, .embed = 24, .depth = 2, .heads = 2};
const c10::Device kCpu(c10::kCPU);

at::Tensor image(std::int64_t seed) {
  at::Tensor out = at::arange(2 * 3 * 16 * 24, at::TensorOptions(at::kFloat))
                       .mul_(0.37 + 0.01 * static_cast<double>(seed));
  return out.sin_().view({2, 3, 16, 24});
}

/// The weights after four steps, of which the third may be watched.
at::Tensor train(bool watches, AmpMode mode, OperatorRecord* record = nullptr) {
  Parameters parameters;
  const Vit model(parameters, kShape);
  parameters.materialise(1, kCpu);
  Adam adam(parameters, OptimConfig{});
  for (std::int64_t step = 0; step < 4; ++step) {
    const at::Tensor input = image(step);
    const at::Tensor target = image(step + 1);
    std::optional<OperatorWatch> watch;
    if (watches && step == 2) watch.emplace(kCpu);
    if (watch) watch->enter("forward");
    parameters.zero_gradients();
    at::Tensor loss;
    {
      const Autocast autocast(mode, kCpu);
      loss = relative_l2(model(input), target);
    }
    if (watch) watch->enter("backward");
    loss.backward();
    if (watch) watch->enter("optimize");
    adam.step(1e-3);
    if (!watch) continue;
    watch->stop();
    if (record != nullptr) *record = watch->take();
  }
  return parameters.values().clone();
}

std::vector<const WatchedOperator*> in_module(const OperatorRecord& record, const std::string& module,
                                              OperatorClass kind) {
  std::vector<const WatchedOperator*> out;
  for (const WatchedOperator& row : record.rows) {
    if (row.module == module && row.kind == kind) out.push_back(&row);
  }
  return out;
}

std::int64_t calls_of(const OperatorRecord& record, const std::string& name) {
  std::int64_t calls = 0;
  for (const WatchedOperator& row : record.rows) calls += row.name == name ? row.calls : 0;
  return calls;
}

}  // namespace

TEST_CASE("a run is the same to the last bit whether a step is watched or not") {
  CHECK(at::equal(train(false, AmpMode::none), train(true, AmpMode::none)));
  CHECK(at::equal(train(false, AmpMode::bf16), train(true, AmpMode::bf16)));
}

TEST_CASE("each layer's operators carry its name, and each is there once") {
  OperatorRecord record;
  train(true, AmpMode::none, &record);
  std::set<std::string> modules;
  for (const WatchedOperator& row : record.rows) modules.insert(row.module);
  for (const char* const module :
       {"patch_embed.proj", "vit", "blocks.0.norm1", "blocks.1.attn.q", "blocks.0.attn", "blocks.1.attn.proj",
        "blocks.0", "blocks.0.mlp.fc1", "blocks.1.mlp", "norm", "head", "loss", "backward", "optimize"}) {
    INFO(module);
    CHECK(modules.contains(module));
  }
  CHECK(in_module(record, "blocks.1.mlp.fc2", OperatorClass::gemm).size() == 1);
  CHECK(calls_of(record, "native_layer_norm") == 2 * 2 + 1);
  CHECK(calls_of(record, "native_layer_norm_backward") == 2 * 2 + 1);
  CHECK(calls_of(record, "gelu") == 2);
  CHECK(calls_of(record, "_scaled_dot_product_flash_attention_for_cpu") == 2);
  // q, k, v, proj, fc1, fc2 in two blocks; the head has no bias.
  CHECK(calls_of(record, "addmm") == 12);
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  for (const WatchedOperator& row : record.rows) {
    calls += row.calls;
    bytes += row.moved_bytes;
    INFO(row.name);
    CHECK(row.kind != OperatorClass::other);
  }
  CHECK(calls == record.launches);
  CHECK(bytes == record.moved_bytes);
}

TEST_CASE("under autocast products have 16 bits, norms and the loss 32") {
  OperatorRecord record;
  train(true, AmpMode::bf16, &record);
  for (const char* const module : {"patch_embed.proj", "blocks.0.attn.q", "blocks.1.mlp.fc2", "head"}) {
    const auto products = in_module(record, module, OperatorClass::gemm);
    INFO(module);
    REQUIRE(products.size() == 1);
    CHECK(products[0]->inputs.rfind("bf16, bf16", 0) == 0);
    CHECK(products[0]->output == "bf16");
  }
  const auto norms = in_module(record, "blocks.0.norm1", OperatorClass::norm);
  REQUIRE(norms.size() == 1);
  CHECK(norms[0]->inputs == "f32, f32, f32");
  CHECK(norms[0]->output == "f32");
  for (const WatchedOperator* const row : in_module(record, "loss", OperatorClass::reduction))
    CHECK(row->output == "f32");
  for (const WatchedOperator& row : record.rows) {
    if (row.module == "optimize") CHECK(row.output == "f32");
  }
}

TEST_CASE("the fused model moves fewer bytes with fewer operators, and its kernels are seen by name") {
  const auto watch = [](const FusionConfig& fusion) {
    Parameters parameters;
    const FusedVit model(parameters, kShape, fusion, AttentionKind::automatic);
    parameters.materialise(1, kCpu);
    parameters.zero_gradients();
    const at::Tensor input = image(0);
    const at::Tensor target = image(1);
    OperatorWatch watch(kCpu);
    watch.enter("forward");
    const at::Tensor loss = model.loss(input, target);
    watch.enter("backward");
    loss.backward();
    watch.stop();
    return watch.take();
  };
  const OperatorRecord plain = watch({.adam = false,
                                      .bias_gelu = false,
                                      .residual_norm = false,
                                      .qkv = false,
                                      .head_loss = false,
                                      .grad_norm = false});
  const OperatorRecord fused = watch({});
  CHECK(10 * fused.launches < 6 * plain.launches);
  CHECK(fused.moved_bytes < plain.moved_bytes);
  CHECK(calls_of(fused, "gelu") == 0);
  CHECK(calls_of(fused, "native_layer_norm") == 0);
  for (const auto& [name, calls] : {std::pair{"bias_gelu", 2},
                                    {"bias_gelu_backward", 2},
                                    {"residual_norm", 5},
                                    {"residual_norm_backward", 5},
                                    {"head_loss", 1},
                                    {"head_loss_backward", 1}}) {
    INFO(name);
    CHECK(calls_of(fused, name) == calls);
  }
  REQUIRE(in_module(fused, "blocks.1.attn.qkv", OperatorClass::gemm).size() == 1);
  CHECK(in_module(fused, "blocks.0.norm2", OperatorClass::norm).size() == 1);
  CHECK(in_module(fused, "blocks.0.mlp", OperatorClass::pointwise).size() == 1);
}

}  // namespace isobar::test_watched_step
