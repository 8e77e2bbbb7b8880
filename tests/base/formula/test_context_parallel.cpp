// Sharing the tokens of a model: bytes on the wire, against worked examples, and summed over uneven shares.
// Groups that read fields together, and models of one ensemble.

#include <array>
#include <vector>

#include "core/token_shares.h"
#include "formula/context_parallel.h"
#include "formula/group_traffic.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_context_parallel {

namespace {

const VitShape kWide = {.embed = 1024};  // the preset mp: 4050 tokens, 12 blocks

/// Four ranks share 16 samples in 16 bits.
ContextParallelForm four(ContextForm way) {
  return {.cp = 4, .way = way, .samples = 16, .value_bytes = 2, .gradient_bytes = 2};
}

/// A block, over all ranks.
double sum_of(const VitShape& shape, const ContextParallelForm& form) {
  double out = 0;
  for (std::int64_t rank = 0; rank < form.cp; ++rank) out += context_block_traffic(shape, form, rank).bytes();
  return out;
}

Config groups_of(std::int64_t ranks, std::int64_t model, std::int64_t batch) {
  Config out;
  out.run.ranks = ranks;
  out.mesh.cp = model;
  out.train.global_batch = batch;
  return out;
}

}  // namespace

TEST_CASE("wire bytes of the preset mp, whose tokens four ranks share, by the four ways") {
  const auto gigabytes = [](const ContextParallelForm& form) {
    return context_step(kWide, form, 0).blocks.bytes() / 1e9;
  };
  CHECK(gigabytes(four(ContextForm::gather)) == Approx(4.78).epsilon(2e-3));
  CHECK(gigabytes(four(ContextForm::gather_again)) == Approx(7.17).epsilon(2e-3));
  CHECK(gigabytes(four(ContextForm::ring)) == Approx(7.17).epsilon(2e-3));
  CHECK(gigabytes(four(ContextForm::a2a)) == Approx(2.39).epsilon(2e-3));
  ContextParallelForm wide = four(ContextForm::ring);  // gradients are added up in float32 on their way
  wide.gradient_bytes = 4;
  CHECK(gigabytes(wide) == Approx(9.56).epsilon(2e-3));

  const auto ways = context_ways(kWide, four(ContextForm::gather), 0);
  CHECK(ways[3].blocks.bytes() == context_step(kWide, four(ContextForm::a2a), 0).blocks.bytes());
  CHECK(has_heads_for_all(kWide, four(ContextForm::a2a)));
  CHECK_FALSE(has_heads_for_all(kWide, {.cp = 3}));
  CHECK_FALSE(has_heads_for_all(kWide, {.cp = 4, .tp = 4}));
}

TEST_CASE("blocks that are computed again send what they sent forward once more") {
  for (const ContextForm way :
       {ContextForm::gather, ContextForm::gather_again, ContextForm::ring, ContextForm::a2a}) {
    ContextParallelForm again = four(way);
    again.again = true;
    const ContextStep once = context_step(kWide, four(way), 1), twice = context_step(kWide, again, 1);
    CHECK(twice.blocks.forward_bytes == once.blocks.forward_bytes);
    CHECK(twice.blocks.backward_bytes == once.blocks.backward_bytes + once.blocks.forward_bytes);
    CHECK(twice.calls == once.calls + once.blocks.forward_calls);
    CHECK(twice.blocks.backward_turns == once.blocks.backward_turns + once.blocks.forward_turns);
    CHECK(twice.share_bytes + twice.unite_bytes + twice.sum_bytes ==
          once.share_bytes + once.unite_bytes + once.sum_bytes);
  }
  Config config;
  CHECK_FALSE(context_form(config, 4).again);
  config.model.checkpoint = CheckpointKind::selective;  // keeps attention
  CHECK_FALSE(context_form(config, 4).again);
  config.model.checkpoint = CheckpointKind::block;
  CHECK(context_form(config, 4).again);
}

TEST_CASE("a step of shared tokens sends what both ends and the weights of all need beside it") {
  const ContextStep step = context_step(kWide, four(ContextForm::gather), 0);
  const double tokens_by_embed = 16.0 * 3 * 1013 * 1024;
  CHECK(step.share_bytes == tokens_by_embed * 4);
  CHECK(step.unite_bytes == tokens_by_embed * 2);
  // The curriculum's 632 MB of gradients, less what is not the blocks': they go 2 (c - 1)/c times.
  CHECK(step.summed_values == 12 * (12 * 1024 * 1024 + 13 * 1024) + 2 * 1024);
  CHECK(step.sum_bytes == Approx(1.5 * 4 * static_cast<double>(step.summed_values)));
  CHECK(step.blocks.calls() == 12 * 2);
  CHECK(step.calls == 12 * 2 + 2 + 1);
  CHECK(context_step(kWide, {}, 0).bytes() == 0);
  CHECK(context_step(kWide, {}, 0).calls == 0);

  ContextParallelForm twice = four(ContextForm::gather);
  twice.samples = 8;
  twice.passes = 2;
  CHECK(context_step(kWide, twice, 0).bytes() == step.bytes());
  CHECK(context_step(kWide, twice, 0).calls == 2 * (step.calls - 1) + 1);

  // Ranks that share a layer have a part of the keys, values and matrices each, and whole norms.
  ContextParallelForm both = four(ContextForm::gather);
  both.tp = 2;
  CHECK(context_step(kWide, both, 0).blocks.bytes() == step.blocks.bytes() / 2);
  CHECK(context_step(kWide, both, 0).share_bytes == step.share_bytes);
  CHECK(context_step(kWide, both, 0).summed_values ==
        12 * ((12 * 1024 * 1024 + 7 * 1024) / 2 + 6 * 1024) + 2 * 1024);
}

TEST_CASE("over all ranks each value is sent once to everyone, also where shares are uneven") {
  const double values = 16.0 * 4050 * 1024, others = 3, ranks = 4;
  CHECK(sum_of(kWide, four(ContextForm::ring)) == Approx(6 * others * values * 2).epsilon(1e-14));
  CHECK(sum_of(kWide, four(ContextForm::a2a)) == Approx(8 * others / ranks * values * 2).epsilon(1e-14));
  // A gather takes parts of one size: those of the largest share, here two tokens more than there are.
  CHECK(sum_of(kWide, four(ContextForm::gather)) ==
        Approx(4 * others * values * 4052 / 4050 * 2).epsilon(1e-14));
  CHECK(sum_of(kWide, four(ContextForm::gather_again)) == 1.5 * sum_of(kWide, four(ContextForm::gather)));
  // 1013, 1013, 1013, 1011: the last rank sends fewer of its own, and more of the others'.
  const auto last = context_block_traffic(kWide, four(ContextForm::a2a), 3);
  const auto first = context_block_traffic(kWide, four(ContextForm::a2a), 0);
  CHECK(last.forward_bytes == Approx(2 * 16.0 * 1024 * (3 * 1011 * 0.75 + 3 * 1013 * 0.25)));
  CHECK(last.forward_bytes + last.backward_bytes != first.forward_bytes + first.backward_bytes);
}

TEST_CASE("what the neighbours of a window get is as much however many ranks there are") {
  VitShape windowed = kWide;
  windowed.window = 90;
  for (const std::int64_t ranks : {3, 4, 8, 16, 45}) {
    ContextParallelForm form = four(ContextForm::gather);
    form.cp = ranks;
    CHECK(context_block_traffic(windowed, form, 1).bytes() == 8.0 * 16 * 90 * 1024 * 2);
    CHECK(context_block_traffic(windowed, form, 0).bytes() == 4.0 * 16 * 90 * 1024 * 2);
    CHECK(context_block_traffic(windowed, form, ranks - 1).bytes() == 4.0 * 16 * 90 * 1024 * 2);
    form.way = ContextForm::a2a;  // a window has one way
    CHECK(context_block_traffic(windowed, form, 1).calls() == 2);
  }
  // Attention grows with the window, not with N^2.
  CHECK(kWide.attended_pairs() == 4050 * 4050);
  CHECK(windowed.attended_pairs() == 4050 * 181 - 90 * 91);
  windowed.window = 4049;
  CHECK(windowed.attended_pairs() == kWide.attended_pairs());
  CHECK(count_forward_flops(windowed).total() == count_forward_flops(kWide).total());
}

TEST_CASE("fewer tokens than ranks share nothing") {
  ContextParallelForm form = four(ContextForm::ring);
  form.cp = 4051;
  CHECK_THAT(error_of([&] { context_block_traffic(kWide, form, 0); }),
             says("4050 tokens") && says("mesh.cp=4050"));
}

TEST_CASE("three meshes of the source have one effective batch, 16") {
  // 2 nodes of 4 with batch 4, 8 nodes of 4 with batch 1, both 2 a model; 1 node of 4 with batch 4.
  for (const auto& [ranks, model, batch] : {std::array{8, 2, 4}, {32, 2, 1}, {4, 1, 4}}) {
    const EffectiveBatch found = effective_batch(groups_of(ranks, model, 16));
    CHECK(found.loader_batch == batch);
    CHECK(found.total() == 16);
  }
  Config config = groups_of(8, 2, 16);
  config.train.accumulate = 2;
  CHECK(effective_batch(config).loader_batch == 2);
  config.mesh.gpus_per_ensemble = 4;
  CHECK(effective_batch(config).replicas == 2);
  CHECK(effective_batch(config).total() == 16);
}

TEST_CASE("ranks that read together read 1/g each and send the rest of it") {
  Config config = groups_of(8, 4, 16);
  const double whole = 8 * 2 * 4.0 * 20 * 360 * 720;  // 2 replicas: 8 samples of two fields
  for (const std::int64_t group : {1, 2, 4}) {
    const ReadTraffic found = read_traffic(config, group);
    CHECK(found.file_bytes == whole / static_cast<double>(group));
    CHECK(found.gather_bytes == whole - found.file_bytes);
    CHECK(found.gathers == (group == 1 ? 0 : 1));
  }
  CHECK(read_groups(config) == std::vector<std::int64_t>{1, 2, 4});
  config.train.rollout = 3;
  CHECK(read_traffic(config, 1).file_bytes == 2 * whole);  // an input and three targets
  config.data.source = DataSource::synthetic;
  CHECK(read_traffic(config, 2).file_bytes == 0);
  config.data.grid = {90, 180};
  CHECK(read_groups(config) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE(
    "the best read group has all ranks of a model where the link is quicker than files, and one where not") {
  const Config config = groups_of(8, 4, 16);
  CHECK(best_read_group(config, {.file_bytes_per_s = 1e9, .link_bytes_per_s = 230e9}) == 4);
  CHECK(best_read_group(config, {.file_bytes_per_s = 20e9, .link_bytes_per_s = 1e9}) == 1);
  CHECK(best_read_group(config, {.link_bytes_per_s = 1e9}) == 1);
  CHECK(best_read_group(config, {.file_bytes_per_s = 1e9, .latency_us = 1e9}) == 1);
  // 41.5 MB of one field at 230 GB/s: 0.14 ms.
  const ReadTraffic one = read_traffic(groups_of(4, 4, 1), 4);
  CHECK(read_seconds(one, 4, {.link_bytes_per_s = 230e9}) == Approx(0.14e-3).epsilon(0.05));
}

TEST_CASE("models of an ensemble send their members' forecasts once for each lead") {
  Config config = groups_of(8, 2, 16);
  CHECK(ensemble_traffic(config).gather_bytes == 0);
  config.mesh.members_per_device = 2;
  CHECK(ensemble_traffic(config).gathers == 0);
  CHECK(ensemble_traffic(config).forecasts_bytes == 2 * 4 * field_bytes(config));
  config.mesh.gpus_per_ensemble = 4;
  config.train.rollout = 3;
  CHECK(members(config) == 4);
  const double forecasts = 4 * 8 * field_bytes(config);  // 2 replicas: 8 samples
  CHECK(ensemble_traffic(config).forecasts_bytes == forecasts);
  CHECK(ensemble_traffic(config).gather_bytes == 3 * forecasts / 2);
  CHECK(ensemble_traffic(config).gathers == 3);
}

}  // namespace isobar::test_context_parallel
