// Lesson 00: paths of ranks against one rank and against the walk that is worked out in one process, mistakes
// on purpose in figures, and what is refused.
#include <cmath>

#include "00_sgd/view/descent.h"
#include "config/load.h"
#include "lessons/alone_run.h"
#include "samples/line.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_sgd {

using namespace lesson_00;

namespace fs = std::filesystem;

namespace {

Descent descent_of(int ranks, const std::vector<std::string>& sets) {
  const TempFolder folder;
  const ProcessResult result = run_alone("00_sgd", ranks, folder / "run", sets);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const Descent out = read_descent(folder / "run", project_home());
  REQUIRE(out.ranks.size() == static_cast<std::size_t>(ranks));
  return out;
}

std::vector<Line> path_of(const Descent& descent, std::size_t rank = 0) {
  return descent.ranks.at(rank).path();
}

/// The largest difference between two ranks of it.
double apart(const Descent& descent) {
  double out = 0;
  for (const RankDescent& rank : descent.ranks)
    out = std::max(out, path_distance(path_of(descent), rank.path()));
  return out;
}

const std::vector<std::string> kJoint = {"train.global_batch=60", "train.steps=80"};

}  // namespace

TEST_CASE("ranks walk one path to the bit, and it is that of one rank on the joint batch") {
  const Descent one = descent_of(1, kJoint);
  REQUIRE(one.steps() == 80);
  for (const int ranks : {2, 3, 5}) {
    const Descent several = descent_of(ranks, kJoint);
    REQUIRE(several.steps() == 80);
    CHECK(apart(several) == 0);
    const double distance = path_distance(path_of(one), path_of(several));
    CHECK(distance <= 1e-12);
    CHECK(distance > 0);  // they add in another order: a copy of the one rank's path would prove nothing
  }
}

TEST_CASE("what a run records is what one process works out, bit for bit") {
  for (const auto& [ranks, sets] : {std::pair{1, std::vector<std::string>{"train.global_batch=1"}},
                                    {1, {"train.global_batch=1000"}},
                                    {4, {}},
                                    {3, {"train.global_batch=30", "data.shard=contiguous"}},
                                    {4, {"run.fault=no_broadcast"}},
                                    {2, {"run.fault=uneven_shards"}},
                                    {2, {"run.fault=sum_not_mean"}},
                                    {2, {"run.fault=no_average"}}}) {
    const Descent recorded = descent_of(ranks, sets);
    const Descent walked = walk_descent(recorded.config, static_cast<std::int64_t>(recorded.steps()));
    INFO(ranks << " ranks " << (sets.empty() ? "" : sets.back()));
    for (std::size_t rank = 0; rank < recorded.ranks.size(); ++rank) {
      CHECK(path_of(recorded, rank) == path_of(walked, rank));
      const DescentStep &one = recorded.ranks[rank].steps.back(), &other = walked.ranks[rank].steps.back();
      CHECK(one.own == other.own);
      CHECK(one.taken == other.taken);
      CHECK(one.loss == other.loss);
    }
  }
}

TEST_CASE("mistakes on purpose do to the paths what they are said to do") {
  const Descent sound = descent_of(4, kJoint);
  const auto with_mistake = [&](const char* fault) {
    std::vector<std::string> sets = kJoint;
    sets.push_back(std::string("run.fault=") + fault);
    return descent_of(4, sets);
  };
  SECTION("no_broadcast: the first steps are from places apart, and each rank takes the same step") {
    const Descent descent = with_mistake("no_broadcast");
    for (std::size_t rank = 1; rank < 4; ++rank) {
      const Line start{descent.ranks[rank].start.slope - descent.ranks[0].start.slope,
                       descent.ranks[rank].start.intercept - descent.ranks[0].start.intercept};
      CHECK(std::abs(start.slope) + std::abs(start.intercept) > 1e-3);
      for (std::size_t step = 0; step < 80; ++step) {
        const Line &own = descent.ranks[rank].steps[step].line, &first = descent.ranks[0].steps[step].line;
        REQUIRE(own.slope - first.slope == Approx(start.slope).epsilon(1e-9));
        REQUIRE(own.intercept - first.intercept == Approx(start.intercept).epsilon(1e-9));
      }
    }
  }
  SECTION("no_average: each rank walks alone, as one rank on its samples does") {
    const Descent descent = with_mistake("no_average");
    CHECK(apart(descent) > 1e-3);
    CHECK(descent.ranks[1].steps[0].taken == descent.ranks[1].steps[0].own);
    CHECK(descent.ranks[1].steps[0].taken != descent.ranks[0].steps[0].taken);
  }
  SECTION("sum_not_mean: each step is as long as four") {
    const Descent descent = with_mistake("sum_not_mean");
    CHECK(apart(descent) == 0);
    CHECK(descent.ranks[0].steps[0].taken.slope ==
          Approx(4 * sound.ranks[0].steps[0].taken.slope).epsilon(1e-12));
    CHECK_FALSE(std::abs(path_of(descent).back().slope) < 1e6);  // 4 x 0.5 is more than the loss can bear
  }
  SECTION("uneven_shards: one path, and not that of the joint batch") {
    const Descent descent = with_mistake("uneven_shards");
    CHECK(apart(descent) == 0);
    CHECK(path_distance(path_of(sound), path_of(descent)) > 1e-3);
  }
}

TEST_CASE("the run is marked, told in words and a picture, and ends in the valley") {
  const TempFolder folder;
  const ProcessResult result = run_alone("00_sgd", 2, folder / "run", {"run.fault=no_average"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("FAULT   no_average: each rank goes on with its own gradient"));
  CHECK_THAT(result.out, says("least loss ("));
  CHECK(stream(folder / "run").front()["fault"] == "no_average");
  const Descent descent = descent_of(1, {});
  const LossBowl bowl(descent.points);
  CHECK(bowl.loss(path_of(descent).back()) < 1.05 * bowl.least_loss());
}

TEST_CASE("settings that cannot be are refused, with what would help") {
  const TempFolder folder;
  const auto refused = [&](int ranks, const std::vector<std::string>& sets,
                           const std::vector<std::string>& more = {}) {
    const ProcessResult result = run_alone("00_sgd", ranks, folder / "run", sets, more);
    CHECK(result.code == 2);
    CHECK_FALSE(fs::exists(folder / "run" / "rank-0000.jsonl"));
    return result.err;
  };
  CHECK_THAT(refused(1, {"train.global_batch=2000"}),
             says("a batch of 2000 is larger than the 1000 samples"));
  CHECK_THAT(refused(3, {}), says("a batch of 100 samples cannot be divided over 3 ranks"));
  CHECK_THAT(refused(1, {"data.noise=-1"}), says("data.noise"));
  CHECK_THAT(refused(1, {"data.samples=0"}), says("data.samples"));
  CHECK_THAT(refused(1, {"optim.lr=0"}), says("optim.lr"));
  CHECK_THAT(refused(1, {"model.embed=64"}), says("lesson 00_sgd does not honour model.embed"));
  CHECK_THAT(refused(1, {"run.fault=no_broadcast"}), says("--ranks 2"));
  CHECK_THAT(refused(2, {"run.fault=slow_disk"}), says("no_average"));
  CHECK_THAT(refused(1, {"comm.sync=buckets"}), says("comm.sync"));
  REQUIRE(run_alone("00_sgd", 1, folder / "earlier", {"train.steps=1"}).code == 0);
  CHECK_THAT(refused(1, {}, {"--resume", (folder / "earlier").string()}),
             says("00_sgd keeps no checkpoints"));
}

TEST_CASE("a rank that is asked to stop stops all, and says so by its code") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  ProcessOptions options;
  options.interrupt_when = when_steps(run, 3);
  const ProcessResult result =
      run_alone("00_sgd", 2, run, {"train.steps=100000000", "run.flush_ms=1"}, {}, options);
  INFO(result.out << result.err);
  CHECK(result.code == 130);
  const std::vector<Json> lines = stream(run);
  CHECK(lines.back()["kind"] == "end");
  CHECK(lines.back()["status"] == "stopped");
}

}  // namespace isobar::test_sgd
