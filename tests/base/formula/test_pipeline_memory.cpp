// What the ranks of a pipeline hold, each by its stages and the order of its work.
#include <algorithm>
#include <string>
#include <utility>

#include "formula/memory_front.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/pipeline_memory.h"
#include "pipeline/course.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_pipeline_memory {

namespace {

/// One that has pipelines.
LessonInfo piped() {
  LessonInfo out;
  out.name = "pipes";
  out.honours = {"mesh.pp", "mesh.schedule", "train.accumulate"};
  return out;
}

Config pipes(std::int64_t ranks, std::int64_t parts, PipelineForm form, std::int64_t chunks = 1) {
  Config out;
  out.run.ranks = out.mesh.pp = ranks;
  out.mesh.schedule = form;
  out.mesh.chunks = chunks;
  out.train.accumulate = parts;
  out.train.global_batch = parts;
  return out;
}

struct Counted {
  PipelineSchedule schedule;
  std::vector<StageBlocks> blocks;
  VitShape shape;
  TrainingForm form;

  TrainingBytes bytes(int rank) const { return count_pipeline_bytes(shape, form, schedule, blocks, rank); }
};

Counted counted_of(const Config& config, const MemoryFacts& facts = {}) {
  const PipelineSchedule schedule = schedule_of(config);
  return {schedule, blocks_of_stages(config.model.depth, schedule.stages, config.mesh.stage_blocks),
          vit_shape(config), training_form(config, facts)};
}

}  // namespace

TEST_CASE("stages have all parameters of a model between them") {
  for (const std::int64_t tp : {1, 2}) {
    for (const auto& [ranks, chunks] : {std::pair{1, 1}, {4, 1}, {3, 2}, {2, 6}}) {
      const VitShape shape;
      const PipelineSchedule schedule =
          make_schedule(chunks == 1 ? PipelineForm::gpipe : PipelineForm::interleaved, ranks, chunks, ranks);
      const auto blocks = blocks_of_stages(shape.depth, schedule.stages);
      std::int64_t all = 0;
      for (int rank = 0; rank < ranks; ++rank)
        all += parameters_of_stages(shape, tp, blocks, schedule.stages_of(rank));
      CHECK(all == parameters_on_rank(shape, tp));
    }
  }
}

TEST_CASE("a rank keeps its blocks as often as it has micro-batches between F and B") {
  for (const PipelineForm form : {PipelineForm::gpipe, PipelineForm::one_f_one_b}) {
    const Counted own = counted_of(pipes(4, 8, form));
    const std::vector<int> kept = course_of(own.schedule, PipelineCosts::equal(4, 1, 1, 1)).peak_kept;
    TrainingForm one = own.form;
    VitShape stage = own.shape;
    stage.depth = 3;
    const TrainingBytes whole = count_training_bytes(stage, one);
    const std::uint64_t blocks = whole.activations - whole.patches - whole.last_norm;
    for (int rank = 0; rank < 4; ++rank) {
      const std::uint64_t ends = rank == 0 ? whole.patches : rank == 3 ? whole.last_norm : 0;
      CHECK(own.bytes(rank).activations ==
            (blocks + ends) * static_cast<std::uint64_t>(kept[static_cast<std::size_t>(rank)]));
      CHECK(kept_blocks(own.schedule, own.blocks, rank) == 3 * kept[static_cast<std::size_t>(rank)]);
      CHECK(own.bytes(rank).working == (rank == 3 ? whole.working : whole.mlp + whole.last_norm));
    }
  }
}

TEST_CASE("gpipe holds most, 1f1b less on each rank behind, a split backward pass alike on all") {
  const auto kept = [](PipelineForm form, std::int64_t chunks = 1) {
    Config config = pipes(4, 8, form, chunks);
    config.model.depth = 16;
    const Counted own = counted_of(config);
    std::vector<std::uint64_t> out;
    for (int rank = 0; rank < 4; ++rank) out.push_back(own.bytes(rank).activations);
    return out;
  };
  const auto gpipe = kept(PipelineForm::gpipe), turn = kept(PipelineForm::one_f_one_b),
             split = kept(PipelineForm::zb_h1), v = kept(PipelineForm::zb_v, 2);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(turn[rank] < gpipe[rank]);
    CHECK(static_cast<double>(split[rank]) < 1.1 * static_cast<double>(turn[0]));
    CHECK(static_cast<double>(v[rank]) < 1.2 * static_cast<double>(turn[0]));
    if (rank > 0) CHECK(turn[rank] < turn[rank - 1]);
  }
  CHECK(static_cast<double>(split[3]) > 3 * static_cast<double>(turn[3]));
}

TEST_CASE("messages: one for each neighbour and direction, and those that wait for a slow neighbour") {
  const auto messages = [](const Config& config, int rank) {
    const Counted own = counted_of(config);
    return own.bytes(rank).in_flight / static_cast<std::uint64_t>(4 * own.shape.tokens() * own.shape.embed);
  };
  const Config turn = pipes(4, 8, PipelineForm::one_f_one_b), whole = pipes(4, 32, PipelineForm::gpipe);
  CHECK(messages(turn, 0) == 3 + 1);  // F1 to F3 leave before the first gradient comes
  CHECK(messages(turn, 1) == 2 + 1 + 2);
  CHECK(messages(turn, 3) == 2);
  // Behind the last forward pass all but the first may wait.
  CHECK(messages(whole, 0) == 31 + 1);
  CHECK(messages(whole, 1) == 31 + 1 + 2);
  CHECK(messages(whole, 3) == 2);
  CHECK(messages(pipes(4, 8, PipelineForm::zb_v, 2), 3) >= 4);
  const auto taken_in = [&](const char* csv) {
    Counted own = counted_of(pipes(2, 3, PipelineForm::gpipe));
    own.schedule = parse_schedule(csv, "own.csv");
    check_schedule(own.schedule, "own.csv");
    return own.bytes(1).in_flight / static_cast<std::uint64_t>(4 * own.shape.tokens() * own.shape.embed);
  };
  CHECK(taken_in("0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n") == 2);
  CHECK(taken_in("0F0,0F1,0F2,0B0,0B1,0B2\n1F2,1F1,1F0,1B0,1B1,1B2\n") == 3 + 1);
}

TEST_CASE("the plan of a pipeline is that of the rank that holds most, and a cap asks for it") {
  Config config = pipes(4, 8, PipelineForm::one_f_one_b);
  const std::vector<MemoryPlan> plans = plans_of_pipeline(piped(), config, {});
  REQUIRE(plans.size() == 4);
  std::uint64_t most = 0;
  for (const MemoryPlan& plan : plans) most = std::max(most, plan.total());
  CHECK(plan_memory(piped(), config, {}).total() == most);
  CHECK(plans[0].activations > plans[3].activations);
  // All micro-batches of a step lie in one batch.
  CHECK(plans[0].batches - plan_memory(config, {}).batches ==
        static_cast<std::uint64_t>(8 * 2 * 4 * 20 * 360 * 720));
  config.run.memory_cap = std::to_string(most);
  check_memory_cap(piped(), config, {});
  config.run.memory_cap = std::to_string(most - 1);
  const std::string text = error_of([&] { check_memory_cap(piped(), config, {}); });
  CHECK_THAT(text, Says("4 ranks, mesh.tp = 1, mesh.pp = 4"));
  CHECK_THAT(text, !Says("mesh.zero=2") && !Says("mesh.zero=3") && !Says("mesh.offload"));
}

TEST_CASE("ways to fit leave the stages as they are, and are accepted") {
  Config config = pipes(2, 2, PipelineForm::zb_h1);
  config.train.global_batch = 16;
  const std::uint64_t now = plan_memory(config, {}).total();
  const MemoryQuestion question{.config = config, .facts = {}, .limit_bytes = now / 2};
  const std::vector<MemoryWay> ways = what_would_fit(question);
  REQUIRE_FALSE(ways.empty());
  for (const MemoryWay& way : ways) {
    CAPTURE(way.change);
    CHECK(way.config.mesh.pp == 2);
    CHECK(way.config.model.checkpoint == CheckpointKind::none);  // W needs what that throws away
    CHECK(way.config.mesh.zero < 2);
    CHECK(way.config.mesh.offload == OffloadKind::none);
    CHECK(way.config.run.ranks % (2 * way.config.mesh.tp) == 0);
    CHECK(way.plan.total() <= question.limit_bytes);
    validate(way.config, {});
  }
}

}  // namespace isobar::test_pipeline_memory
