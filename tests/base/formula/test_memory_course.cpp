// The predicted memory of a step, moment by moment: its peak is the plan.
#include <numeric>

#include "config/load.h"
#include "core/files.h"
#include "formula/memory_course.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const MemoryFacts kOnGpu{.on_cuda = true, .value_bytes = 2};
const std::vector<MemoryFacts> kAllFacts = {
    {}, kOnGpu, {.value_bytes = 2, .emulates = true}, {.on_cuda = true, .writes_attention = true}};

std::uint64_t sum_of(const std::array<std::uint64_t, kHeldCategories>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

Config preset_of(const std::string& name) {
  static const LessonInfo lesson = read_lesson(project_home(), "07_tensor_parallel");
  return load_config(project_home(), lesson, {.preset = name}, "cpu").config;
}

Config small() {
  Config out = preset_of("cpu_tiny");
  out.train.global_batch = 16;
  return out;
}

/// Ways to spend less memory, each beside all others as they are.
std::vector<Config> ways_of(const Config& config) {
  std::vector<Config> out = {config};
  const auto add = [&](const auto& change) {
    out.push_back(config);
    out.back().run.ranks = 4;
    out.back().train.global_batch = 32;
    change(out.back());
  };
  for (const CheckpointKind kind : {CheckpointKind::cheap, CheckpointKind::selective, CheckpointKind::block})
    add([&](Config& way) { way.model.checkpoint = kind; });
  for (const std::int64_t every : {2, 3, 4})
    add([&](Config& way) {
      way.model.checkpoint = CheckpointKind::block;
      way.model.checkpoint_every = every;
    });
  for (const std::int64_t stage : {0, 1, 2, 3})
    for (const OffloadKind offload : {OffloadKind::none, OffloadKind::optimizer, OffloadKind::weights})
      add([&](Config& way) {
        way.mesh.zero = stage;
        way.mesh.offload = offload;
      });
  for (const std::int64_t passes : {2, 4, 8})
    add([&](Config& way) {
      way.train.accumulate = passes;
      way.model.dropout = 0.1;
    });
  add([](Config& way) { way.mesh.tp = 2; });
  add([](Config& way) {
    way.run.measure = MeasureKind::io;
    way.comm.bucket_view = false;
  });
  return out;
}

void check_peak(const Config& config, const MemoryFacts& facts) {
  const MemoryPlan plan = plan_memory(config, facts);
  const MemoryTimeline course = memory_course(config, facts);
  REQUIRE_FALSE(course.moments.empty());
  CHECK(course.peak_bytes() + course.program_bytes == plan.total());
  if (course.peak_stage != "optimize") CHECK(course.peak().bytes == held_bytes(plan));
  for (const MemoryMoment& moment : course.moments)
    CHECK(std::accumulate(moment.activations.begin(), moment.activations.end(), std::uint64_t{0}) ==
          moment.of(MemoryCategory::activations));
}

}  // namespace

TEST_CASE("the largest moment of a predicted step is the plan, by category, in every way to train") {
  for (const char* const preset : {"cpu_micro", "cpu_tiny", "cpu_attn", "short", "mp", "mp_patch4"})
    for (const MemoryFacts& facts : kAllFacts)
      for (const Config& config : ways_of(preset_of(preset))) {
        CAPTURE(preset, facts.on_cuda, facts.value_bytes, config.mesh.zero, config.train.accumulate,
                name_of(config.model.checkpoint), name_of(config.mesh.offload));
        check_peak(config, facts);
        CHECK(sum_of(held_bytes(plan_memory(config, facts))) + plan_memory(config, facts).program ==
              plan_memory(config, facts).total());
      }
}

TEST_CASE("activations rise through forward, fall through backward, and are gone in the update") {
  const MemoryTimeline course = memory_course(small(), {});
  REQUIRE(course.stages.size() ==
          3);  // forward, backward, optimize: nothing is loaded where no time is known
  CHECK(course.owners.size() == 6);
  const auto kept = [&](std::size_t i) { return course.moments[i].of(MemoryCategory::activations); };
  for (std::size_t i = 1; i < 6; ++i) CHECK(kept(i) > kept(i - 1));
  for (std::size_t i = 8; i < 12; ++i) CHECK(kept(i) < kept(i - 1));
  CHECK(course.moments.back().of(MemoryCategory::activations) == 0);
  CHECK(course.moments.back().of(MemoryCategory::weights) == course.peak().of(MemoryCategory::weights));
  CHECK(course.peak_stage == "backward");
  CHECK(course.step_us == 0);
  CHECK(course.stages.back().end_us == 100'000);
}

TEST_CASE("blocks that are computed again hold one group at a time, however the depth is divided") {
  Config config = small();
  config.model.depth = 7;
  config.model.checkpoint = CheckpointKind::block;
  config.model.checkpoint_every = 3;
  const MemoryTimeline course = memory_course(config, {});
  const auto& moments = course.moments;  // 9 forward, 9 backward, the update
  REQUIRE(moments.size() == 19);
  const auto kept_of = [&](std::size_t block) { return moments[8].activations[block + 1]; };
  for (const std::size_t block : {1U, 2U, 4U, 5U}) CHECK(kept_of(block) == 0);
  for (const std::size_t block : {0U, 3U, 6U}) CHECK(kept_of(block) > 0);
  const auto workspace = [&](std::size_t block) { return moments[16 - block].of(MemoryCategory::workspace); };
  CHECK(workspace(5) > workspace(4));
  CHECK(workspace(4) > workspace(3));
  CHECK(workspace(2) == workspace(5));
  // More is kept and less computed again with fewer blocks to a group.
  config.model.checkpoint_every = 1;
  CHECK(memory_course(config, {}).moments[8].of(MemoryCategory::activations) >
        moments[8].of(MemoryCategory::activations));
}

TEST_CASE("a step of several passes repeats forward and backward, many passes as sixteen") {
  Config config = small();
  config.train.accumulate = 4;
  const MemoryTimeline four = memory_course(config, {});
  CHECK(four.micro_batches == 4);
  CHECK(four.stages.size() == 9);
  config.train.global_batch = 256;
  config.train.accumulate = 64;
  const MemoryTimeline many = memory_course(config, {});
  CHECK(many.micro_batches == 64);
  CHECK(many.stages.size() == 2 * kMostDrawnPasses + 1);
  CHECK(many.moments.size() <= kMostMoments);
  CHECK(many.peak_bytes() == four.peak_bytes());
}

TEST_CASE("known times are those of the stages; shared weights are gathered while units compute") {
  Config config = small();
  config.run.ranks = 2;
  const StepStages times{
      .load_us = 100, .forward_us = 1000, .backward_us = 2000, .comm_us = 400, .optimize_us = 500};
  config.mesh.zero = 2;
  const MemoryTimeline two = memory_course(config, kOnGpu, times);
  CHECK(two.step_us == 4000);
  REQUIRE(two.stages.size() == 6);
  CHECK(two.stages[1].begin_us == 100);
  CHECK(two.stages[2].end_us == 3100);
  CHECK(two.stages[4].name == "optimize");
  CHECK(two.stages[5].name == "comm");  // the updated weights are gathered
  config.mesh.zero = 3;
  const MemoryTimeline three = memory_course(config, kOnGpu, times);
  const std::uint64_t before = three.moments[0].of(MemoryCategory::communication);
  CHECK(three.moments[2].of(MemoryCategory::communication) > before);
  CHECK(three.peak().of(MemoryCategory::communication) >
        three.moments[2].of(MemoryCategory::communication));  // and gradients of the unit
  CHECK(three.moments.back().of(MemoryCategory::communication) == before);
}

TEST_CASE("a lesson's step is drawn as the lesson runs it") {
  Config config = small();
  config.fusion.adam = true;
  const LessonInfo first = read_lesson(project_home(), "01_baseline");
  CHECK(memory_course(first, config, {}).peak_bytes() + memory_course(first, config, {}).program_bytes ==
        plan_memory(first, config, {}).total());
  CHECK(memory_course(first, config, {}).program_bytes < memory_course(config, {}).program_bytes);
}

TEST_CASE("a rank of a pipeline: activations come with F and go with B or W, and the peak is the plan") {
  for (const PipelineForm form : {PipelineForm::gpipe, PipelineForm::one_f_one_b, PipelineForm::zb_h1}) {
    for (const MemoryFacts& facts : kAllFacts) {
      Config config = small();
      config.run.ranks = config.mesh.pp = 4;
      config.train.accumulate = 8;
      config.mesh.schedule = form;
      const MemoryTimeline course = memory_course(config, facts);
      INFO(name_of(form));
      const MemoryPlan plan = plan_memory(config, facts);
      CHECK(course.peak_bytes() + course.program_bytes == plan.total());
      CHECK(course.moments.back().of(MemoryCategory::activations) == 0);
      CHECK(course.micro_batches == 8);
      CHECK(course.owners.size() == 1);
    }
  }
}
