// What a rank holds where ranks share the tokens of a model, read together, or forecast ensembles.
#include "core/files.h"
#include "formula/group_traffic.h"
#include "formula/memory_front.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_context_memory {

namespace {

constexpr std::uint64_t k40GiB = std::uint64_t{40} << 30;
const MemoryFacts kHalfs{.on_cuda = true, .value_bytes = 2};

/// One whose models share their tokens.
LessonInfo sharing() {
  LessonInfo out;
  out.name = "sharing";
  out.honours = {"mesh.tp",    "mesh.cp",          "train.accumulate",     "model.checkpoint", "fusion.adam",
                 "fusion.qkv", "fusion.head_loss", "fusion.residual_norm", "fusion.bias_gelu", "run.ranks"};
  return out;
}

Config wide(std::int64_t cp, ContextForm way = ContextForm::gather) {
  Config out;
  out.model.embed = 1024;
  out.train.global_batch = 16;
  out.run.ranks = out.mesh.cp = cp;
  out.mesh.cp_comm = way;
  return out;
}

/// Kept by a block, of each token of a sample and channel, on the rank with most tokens.
double kept_a_token(const Config& config, std::int64_t value_bytes = 2) {
  const VitShape shape = vit_shape(config);
  const std::int64_t own = training_form(config, {.value_bytes = value_bytes}).tokens;
  return kept_by_block(kept_form(config, value_bytes), shape).per_value * static_cast<double>(own) /
         static_cast<double>(shape.tokens());
}

}  // namespace

TEST_CASE("a block keeps its tokens' share, and K and V of all tokens where they were gathered") {
  const auto about = [](double bytes) { return Approx(bytes).epsilon(1e-3); };
  CHECK(kept_a_token(wide(1)) == 36);
  CHECK(kept_a_token(wide(4)) == about(36.0 / 4 + 4));
  CHECK(kept_a_token(wide(4), 4) == about(64.0 / 4 + 8));
  for (const ContextForm way : {ContextForm::gather_again, ContextForm::ring})
    CHECK(kept_a_token(wide(4, way)) == about(36.0 / 4));
  CHECK(kept_a_token(wide(4, ContextForm::a2a)) == about((36.0 + 2) / 4));  // its output by heads too
  // The curriculum's 40/c + 4, of layers of libtorch one by one.
  KeptForm plain = kept_form(wide(4), 2);
  plain.plain = true;
  CHECK(kept_by_block(plain, vit_shape(wide(4))).per_value * 1013 / 4050 == about(40.0 / 4 + 4));

  Config windowed = wide(4);
  windowed.model.window = 90;
  // 12 blocks of 90 queries over 270 keys and values each, and outputs.
  CHECK(kept_a_token(windowed) == about((36 + 2 * (12 * (4 * 90 + 4 * 90) / 1013.0 - 3)) / 4));
  // One mask, whatever the depth: 12 x 90 rows of 272 values for each of 16 samples.
  CHECK(window_mask_values(windowed) == 12 * 90 * 272);
  CHECK(window_mask_values(wide(4)) == 0);
  Config deeper = windowed;
  deeper.model.depth *= 2;
  const std::uint64_t mask = 16 * 2 * 12 * 90 * 272;
  const auto of_blocks = [](const Config& config) {
    return count_training_bytes(vit_shape(config), training_form(config, kHalfs)).activations;
  };
  CHECK(plan_memory(windowed, kHalfs).activations == of_blocks(windowed) + mask);
  CHECK(plan_memory(deeper, kHalfs).activations == of_blocks(deeper) + mask);
  windowed.run.ranks = windowed.mesh.cp = 1;
  CHECK(kept_a_token(windowed) > 36);
  Config by_block = wide(4);
  by_block.model.checkpoint = CheckpointKind::block;
  CHECK(kept_a_token(by_block) == about(4.0 / 4));
  CHECK(redone_bytes_per_value(kept_form(by_block, 2)) == about(32 + 4 * 4050.0 / 1013));
}

TEST_CASE("embedding, head and states stay whole where tokens are shared") {
  const MemoryPlan one = plan_memory(wide(1), kHalfs), four = plan_memory(wide(4), kHalfs);
  CHECK(four.weights == one.weights);
  CHECK(four.moments == one.moments);
  CHECK(four.batches == one.batches);  // all ranks of a model see the same samples
  CHECK(four.activations < one.activations * 4 / 10);
  CHECK(four.activations > one.activations / 4);
  const VitShape shape = vit_shape(wide(4));
  const TrainingBytes bytes = count_training_bytes(shape, training_form(wide(4), kHalfs));
  const TrainingBytes whole = count_training_bytes(shape, training_form(wide(1), kHalfs));
  CHECK(bytes.patches == whole.patches);
  CHECK(bytes.turn == whole.turn);
  // The last norm's input is the own tokens', its output for the head that of all.
  CHECK(bytes.last_norm == std::uint64_t{16} * 1024 * (1013 * 4 + 4050 * 2));
  // A rank that gathers K and V in backward again works with both and with their gradients.
  const Config again = wide(16, ContextForm::gather_again);
  CHECK(plan_memory(again, kHalfs).activations < plan_memory(wide(16), kHalfs).activations);
  CHECK(plan_memory(again, kHalfs).working > plan_memory(wide(16), kHalfs).working);

  MemoryFacts writes = kHalfs;
  writes.writes_attention = true;
  CHECK(plan_memory(wide(4), writes).attention == std::uint64_t{16} * 12 * 8 * 1013 * 4050 * 4);
}

TEST_CASE("stages of a model whose tokens are shared pass the own tokens on") {
  Config both = wide(2), whole = wide(1);
  for (Config* const config : {&both, &whole}) {
    config->mesh.pp = 2;
    config->run.ranks = 2 * config->mesh.cp;
    config->train.accumulate = 4;
  }
  const auto plans = plans_of_pipeline(both, kHalfs), all = plans_of_pipeline(whole, kHalfs);
  REQUIRE(plans.size() == 2);
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    CHECK(plans[rank].in_flight == all[rank].in_flight / 2);
    CHECK(plans[rank].activations < all[rank].activations * 7 / 10);
    CHECK(plans[rank].weights == all[rank].weights);
  }
}

TEST_CASE("mp_patch4 is refused with what fits: more ranks that share its tokens") {
  Config config = wide(1);
  config.model.patch = 4;
  config.train.global_batch = 1;
  CHECK(vit_shape(config).tokens() == 16200);
  config.run.memory_cap = "8GiB";
  const std::string refused = error_of([&] { check_memory_cap(sharing(), config, kHalfs); });
  CHECK_THAT(refused, says("8GiB") && says("activations") && says("--set mesh.cp=") && says("mesh.tp="));
  // The smallest that fits, and no smaller one does.
  const std::uint64_t limit = std::uint64_t{8} << 30;
  const LessonInfo lesson = sharing();
  const auto ways =
      what_would_fit({.lesson = &lesson, .config = config, .facts = kHalfs, .limit_bytes = limit});
  REQUIRE_FALSE(ways.empty());
  const Config fits = ways.back().config;
  CHECK(fits.mesh.cp > 1);
  CHECK(fits.run.ranks == fits.mesh.cp);
  CHECK(ways.back().change ==
        "--ranks " + std::to_string(fits.run.ranks) + " --set mesh.cp=" + std::to_string(fits.mesh.cp));
  CHECK(plan_memory(fits, kHalfs).total() <= limit);
  Config fewer = fits;
  fewer.run.ranks = --fewer.mesh.cp;
  CHECK(plan_memory(fewer, kHalfs).total() > limit);

  // A model's ranks that were set themselves grow with it.
  config.mesh.gpus_per_model = 1;
  LessonInfo grouped = sharing();
  grouped.honours.emplace_back("mesh.gpus_per_model");
  const auto groups =
      what_would_fit({.lesson = &grouped, .config = config, .facts = kHalfs, .limit_bytes = limit});
  CHECK_THAT(groups.back().change, says("mesh.gpus_per_model=" + std::to_string(fits.mesh.cp)));
  // A lesson without the key is not offered it.
  LessonInfo without = sharing();
  std::erase(without.honours, "mesh.cp");
  for (const MemoryWay& way :
       what_would_fit({.lesson = &without, .config = config, .facts = kHalfs, .limit_bytes = limit}))
    CHECK(way.config.mesh.cp == 1);
}

TEST_CASE("the published runs of mp on 16 ranks: shared tokens take less than split layers") {
  Config split = wide(1), shared = wide(4);
  split.mesh.tp = 4;
  for (Config* const config : {&split, &shared}) {
    config->run.ranks = 16;
    config->train.global_batch = 64;
    config->loader.kind = LoaderKind::gpu;
    config->fusion = {};
    config->amp.mode = AmpMode::fp16;
  }
  const auto gib = [](const Config& config) {
    return static_cast<double>(plan_memory(config, kHalfs).total()) / (std::uint64_t{1} << 30);
  };
  CHECK(gib(shared) < gib(split));
}

TEST_CASE("a rollout keeps the passes of all its forecasts, and an ensemble its members") {
  Config config = wide(1);
  config.train.global_batch = 4;
  const MemoryPlan one = plan_memory(config, kHalfs);
  config.train.rollout = 4;
  const MemoryPlan four = plan_memory(config, kHalfs);
  const auto field = static_cast<std::uint64_t>(field_bytes(config));
  CHECK(four.activations == 4 * (one.activations + 4 * field));  // and each forecast, of its loss
  CHECK(four.batches == one.batches / 2 * 5);                    // an input and four targets
  CHECK(four.weights == one.weights);
  config.train.rollout = 1;
  config.mesh.members_per_device = 2;
  const MemoryPlan pairs = plan_memory(config, kHalfs);
  CHECK(pairs.activations == 2 * (one.activations + 4 * field));
  CHECK(pairs.batches == one.batches);
  config.run.ranks = config.mesh.gpus_per_ensemble = 2;  // the other model's members, for the loss
  CHECK(plan_memory(config, kHalfs).activations == pairs.activations + 2 * 4 * field);
}

TEST_CASE("ranks that read together hold bands in their loaders and whole batches beside them") {
  Config config = wide(4);
  config.loader.kind = LoaderKind::in_line;
  const std::uint64_t batch = 16 * 2 * static_cast<std::uint64_t>(field_bytes(config));
  CHECK(plan_memory(config, kHalfs).batches == 2 * batch);
  config.data.read_group = 4;
  CHECK(plan_memory(config, kHalfs).batches == 2 * batch / 4 + batch);
  const std::uint64_t climatologies = 2 * static_cast<std::uint64_t>(field_bytes(config));
  CHECK(plan_memory(config, {}).batches == batch / 4 + batch + climatologies);
}

}  // namespace isobar::test_context_memory
