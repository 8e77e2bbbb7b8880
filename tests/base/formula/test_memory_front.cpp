// Ways to make a run fit: what is computed again, passes, states that ranks share out or the host holds.
#include <algorithm>

#include "config/load.h"
#include "core/files.h"
#include "formula/memory_front.h"
#include "formula/vit_memory.h"
#include "support/catch.h"

using namespace isobar;

namespace isobar::test_memory_front {
namespace {

constexpr std::uint64_t kCap = std::uint64_t{40} << 30;
const MemoryFacts kHalfOnCuda{.on_cuda = true, .value_bytes = 2};

MemoryQuestion mp_question(std::int64_t ranks = 1) {
  Config config;
  config.model.embed = 1024;
  config.train.global_batch = 64 * ranks;
  config.run.ranks = ranks;
  config.amp.mode = AmpMode::bf16;
  config.loader.kind = LoaderKind::gpu;
  return {.lesson = nullptr, .config = config, .facts = kHalfOnCuda, .limit_bytes = kCap};
}

std::uint64_t total_of(const Config& config) { return plan_memory(config, kHalfOnCuda).total(); }

}  // namespace

TEST_CASE("what fits on the same ranks comes with the fewest passes, the cheapest first") {
  const MemoryQuestion question = mp_question();
  const std::vector<MemoryWay> ways = what_would_fit(question);
  std::vector<MemoryWay> same;
  std::copy_if(ways.begin(), ways.end(), std::back_inserter(same),
               [](const MemoryWay& way) { return way.config.run.ranks == 1; });
  REQUIRE(same.size() >= 3);
  CHECK(same.front().computing == 1);
  CHECK(same.front().keys == std::vector<std::string>{"train.accumulate"});
  for (std::size_t i = 0; i < same.size(); ++i) {
    INFO(same[i].change);
    CHECK(total_of(same[i].config) == same[i].plan.total());
    CHECK(same[i].plan.total() <= kCap);
    Config fewer = same[i].config;
    if (fewer.train.accumulate % 2 == 0) {
      fewer.train.accumulate /= 2;
      CHECK(total_of(fewer) > kCap);
    }
    if (i == 0 || same[i].config.mesh.offload != same[i - 1].config.mesh.offload) continue;
    CHECK(same[i].computing >= same[i - 1].computing);
  }
  const auto block = std::find_if(same.begin(), same.end(), [](const MemoryWay& way) {
    return way.config.model.checkpoint == CheckpointKind::block;
  });
  REQUIRE(block != same.end());
  CHECK(block->computing > 1.25);
  CHECK(block->computing < 4.0 / 3);
  CHECK(block->config.train.accumulate < same.front().config.train.accumulate);
}

TEST_CASE("shared states alone do not make activations fit, and are listed all the same") {
  const std::vector<MemoryWay> ways = shared_states_alone(mp_question(), 8);
  REQUIRE(ways.size() == 3);
  for (const MemoryWay& way : ways) {
    CHECK(way.plan.total() > kCap);
    CHECK(micro_batch(way.config) == 64);
    CHECK(way.plan.activations == plan_memory(mp_question().config, kHalfOnCuda).activations);
  }
  CHECK(ways[2].plan.state() < ways[0].plan.state());
  MemoryQuestion pinned = mp_question();
  const LessonInfo lesson = read_lesson(project_home(), "07_tensor_parallel");
  pinned.lesson = &lesson;  // it has no mesh.zero
  CHECK(shared_states_alone(pinned, 8).empty());
}

TEST_CASE("a lesson that trains in pipelines is offered no shares of gradients, on one rank too") {
  const LessonInfo lesson = read_lesson(project_home(), "15_pipeline");
  MemoryQuestion question = mp_question(4);
  question.config.data.grid = {72, 144};
  question.config.model.depth = 48;
  question.config.train.global_batch = 4;
  question.lesson = &lesson;
  const MemoryPlan now = plan_memory(lesson, question.config, question.facts);
  question.limit_bytes = now.total() - now.moments / 2;
  const std::vector<MemoryWay> ways = what_would_fit(question);
  CHECK(
      std::any_of(ways.begin(), ways.end(), [](const MemoryWay& way) { return way.config.mesh.zero == 1; }));
  CHECK(
      std::none_of(ways.begin(), ways.end(), [](const MemoryWay& way) { return way.config.mesh.zero > 1; }));
  CHECK(shared_states_alone(question, 4).size() == 1);
  const auto load = [&](const char* zero) {
    return load_config(project_home(), lesson, {.sets = {"run.ranks=2", "train.global_batch=8", zero}},
                       "cpu");
  };
  CHECK_THAT(error_of([&] { load("mesh.zero=2"); }), Says("until its last micro-batch"));
  CHECK(load("mesh.zero=1").config.mesh.zero == 1);
}

TEST_CASE("where states are what fills the memory, sharing them out or offload is offered") {
  MemoryQuestion question = mp_question(4);
  question.config.data.grid = {72, 144};
  question.config.model.depth = 48;
  question.config.train.global_batch = 4;
  const MemoryPlan plan = plan_memory(question.config, kHalfOnCuda);
  REQUIRE(plan.state() > 4 * plan.activations);
  question.limit_bytes = plan.total() - plan.moments / 2;
  const std::vector<MemoryWay> ways = what_would_fit(question);
  REQUIRE_FALSE(ways.empty());
  CHECK(ways.front().change == "--set mesh.zero=2");  // stage 1 fits too, and sends as much
  CHECK(ways.front().plan.state() < plan.state());
  question.limit_bytes = plan.total() / 3;
  const std::vector<MemoryWay> less = what_would_fit(question);
  CHECK(
      std::any_of(less.begin(), less.end(), [](const MemoryWay& way) { return way.config.mesh.zero == 3; }));
  Config held = question.config;
  held.mesh.zero = 1;
  held.mesh.offload = OffloadKind::optimizer;
  CHECK(plan_memory(held, kHalfOnCuda).moments == 0);
  CHECK(plan_memory(held, kHalfOnCuda).host > 0);
}

TEST_CASE("a limit that nothing meets has no way, and all ways are points of the front") {
  MemoryQuestion question = mp_question();
  question.limit_bytes = 1 << 20;
  CHECK(what_would_fit(question).empty());
  const std::vector<MemoryWay> all = ways_of(mp_question());
  // none, cheap, selective, block of 1, 2, 3, 4, 6 and 12 blocks; 1 to 64 passes that divide 64 samples
  CHECK(all.size() == std::size_t{9} * 7);
  const auto least = std::min_element(all.begin(), all.end(), [](const MemoryWay& a, const MemoryWay& b) {
    return a.plan.total() < b.plan.total();
  });
  CHECK(least->config.model.checkpoint == CheckpointKind::block);
  CHECK(least->config.train.accumulate == 64);
}

TEST_CASE("words that turn one configuration into another") {
  Config from, to;
  CHECK(typed_change(from, to).empty());
  to.model.checkpoint = CheckpointKind::selective;
  to.train.accumulate = 4;
  CHECK(typed_change(from, to) == "--set model.checkpoint=selective --set train.accumulate=4");
  CHECK(typed_change(to, from) == "--set model.checkpoint=none --set train.accumulate=1");
}

}  // namespace isobar::test_memory_front
