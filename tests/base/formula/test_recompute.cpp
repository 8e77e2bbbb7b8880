#include "formula/recompute.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constexpr std::array kKinds = {CheckpointKind::none, CheckpointKind::cheap, CheckpointKind::selective,
                               CheckpointKind::block};

}  // namespace

TEST_CASE("bytes that a block keeps, by what is redone") {
  const VitShape shape{};
  const auto bytes = [&](const KeptForm& form) { return kept_by_block(form, shape).per_value; };
  const double half[] = {36, 24, 12, 4}, whole[] = {64, 40, 20, 4};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    INFO(name_of(kKinds[i]));
    CHECK(bytes({.kind = kKinds[i], .value_bytes = 2}) == half[i]);
    CHECK(bytes({.kind = kKinds[i], .value_bytes = 4}) == whole[i]);
  }
  CHECK(bytes({.value_bytes = 2, .plain = true}) == 40);
  CHECK(bytes({.value_bytes = 4, .plain = true}) == 64);
  // Twelve blocks in groups of five: three inputs are kept.
  CHECK(bytes({.kind = CheckpointKind::block, .every = 5, .value_bytes = 2}) == 1);
  CHECK(bytes({.kind = CheckpointKind::block, .every = 12}) * 12 == Approx(4));
  // Masks of dropout are kept unless they are drawn again.
  CHECK(bytes({.value_bytes = 2, .dropout = 0.1}) == 38);
  CHECK(bytes({.kind = CheckpointKind::cheap, .value_bytes = 2, .dropout = 0.1}) == 26);
  CHECK(bytes({.kind = CheckpointKind::selective, .value_bytes = 2, .dropout = 0.1}) == 12);
  CHECK(bytes({.kind = CheckpointKind::block, .value_bytes = 2, .dropout = 0.1}) == 4);
}

TEST_CASE(
    "ranks that share layers keep a share of what is between their halves, and of tokens that they share") {
  const VitShape shape{};
  const auto bytes = [&](CheckpointKind kind, bool shares_tokens) {
    return kept_by_block({.kind = kind, .value_bytes = 2, .tp = 4, .shares_tokens = shares_tokens}, shape);
  };
  CHECK(bytes(CheckpointKind::none, false).per_value == 8 + 4 + 6);
  CHECK(bytes(CheckpointKind::none, true).per_value == 2 + 4 + 6);
  CHECK(bytes(CheckpointKind::cheap, false).per_value == 8 + 4);
  CHECK(bytes(CheckpointKind::cheap, true).per_value == 2 + 4);
  CHECK(bytes(CheckpointKind::selective, false).per_value == 4 + 2);
  CHECK(bytes(CheckpointKind::block, true).per_value == 1);
  CHECK(bytes(CheckpointKind::none, false).per_token == 16 + 4 * 2);
  CHECK(bytes(CheckpointKind::selective, true).per_token == 2 + 4 * 2);
}

TEST_CASE("all blocks together, to the byte") {
  const VitShape shape{.embed = 6, .depth = 3, .heads = 2};
  CHECK(kept_by_blocks({.value_bytes = 2}, shape, 10) == 3 * 10 * (36 * 6 + 16 + 8));
  CHECK(kept_by_blocks({.kind = CheckpointKind::block, .every = 2, .value_bytes = 2}, shape, 10) ==
        Approx(2 * 10 * (4 * 6 + 8)));
}

TEST_CASE("what is redone is there for a while") {
  const auto bytes = [](CheckpointKind kind, std::int64_t every, std::int64_t tp) {
    return redone_bytes_per_value({.kind = kind, .every = every, .value_bytes = 2, .tp = tp});
  };
  CHECK(bytes(CheckpointKind::none, 1, 1) == 0);
  CHECK(bytes(CheckpointKind::cheap, 1, 1) == 8);
  CHECK(bytes(CheckpointKind::selective, 1, 1) == 22);
  CHECK(bytes(CheckpointKind::block, 1, 1) == 36 - 4);
  CHECK(bytes(CheckpointKind::block, 3, 1) == 3 * 36 - 4);
  CHECK(bytes(CheckpointKind::block, 1, 2) == 4 + 12 + 4);
}

TEST_CASE("operations that are done again") {
  const VitShape shape{};
  const double tokens = 4050, embed = 384, square = tokens * embed * embed;
  const double block = 24 * square + 4 * tokens * tokens * embed;
  CHECK(redone_flops({.kind = CheckpointKind::none}, shape) == 0);
  CHECK(redone_flops({.kind = CheckpointKind::cheap}, shape) == 0);
  CHECK(redone_flops({.kind = CheckpointKind::selective}, shape) == Approx(12 * 10 * square));
  CHECK(redone_flops({.kind = CheckpointKind::block}, shape) == Approx(12 * (block - 8 * square)));
  CHECK(redone_flops({.kind = CheckpointKind::block, .every = 5}, shape) ==
        Approx(12 * block - 3 * 8 * square));
  // A third of the arithmetic is the forward pass: nobody redoes more than that.
  CHECK(recompute_factor({.kind = CheckpointKind::none}, shape) == 1);
  CHECK(recompute_factor({.kind = CheckpointKind::selective}, shape) == Approx(1.05).epsilon(0.01));
  CHECK(recompute_factor({.kind = CheckpointKind::block}, shape) == Approx(1.29).epsilon(0.01));
  CHECK(recompute_factor({.kind = CheckpointKind::block, .every = 12}, shape) < 4.0 / 3);
}

TEST_CASE("the form of a configuration") {
  Config config;
  config.fusion = {.bias_gelu = false, .residual_norm = false, .qkv = false, .head_loss = false};
  CHECK(kept_form(config, 2).plain);
  config.model.dropout = 0.1;
  CHECK_FALSE(kept_form(config, 2).plain);
  CHECK(kept_form(config, 2).dropout == 0.1);
  config.model = {};
  config.model.checkpoint = CheckpointKind::block;
  config.model.checkpoint_every = 2;
  const KeptForm form = kept_form(config, 2);
  CHECK_FALSE(form.plain);
  CHECK(form.kind == CheckpointKind::block);
  CHECK(form.every == 2);
  config.mesh.tp = 2;
  CHECK_FALSE(kept_form(config, 4).shares_tokens);
  config.mesh.sequence_parallel = true;
  CHECK(kept_form(config, 4).shares_tokens);
  CHECK(kept_form(config, 4).tp == 2);
}
