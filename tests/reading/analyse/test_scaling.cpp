// Scaling from the streams of runs: efficiency by both laws, gaps, repeats, cost, time to a loss.

#include "analyse/scaling.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/made_ranks.h"
#include "support/says.h"

namespace isobar::test_scaling {

namespace {

/// A run of 13 steps, three of them warm-up, of which rank 0 takes `step_us` and the last rank 2 % more.
struct Recorded {
  int ranks = 1;
  std::int64_t samples = 4;  ///< a step and rank
  std::int64_t step_us = 40'000;
  std::int64_t comm_us = 0;
  std::string measure = "full";
  std::vector<std::pair<int, double>> scores = {};  ///< step and validation loss
};

ScalingRun run_of(const Recorded& recorded) {
  const TempFolder folder;
  const RunFolder run{folder.path()};
  write_file_whole(run.config_file(), std::string_view(""));
  for (int rank = 0; rank < recorded.ranks; ++rank) {
    MadeRanks made{.world = recorded.ranks, .steps = 13, .samples = recorded.samples};
    made.measure = recorded.measure;
    made.step_us = rank > 0 && rank == recorded.ranks - 1 ? recorded.step_us * 102 / 100 : recorded.step_us;
    made.more = [&](int, int, JsonLine& line) { line.add("comm_us", recorded.comm_us); };
    std::string text = made.stream(rank);
    const std::size_t end = text.find(R"({"kind":"end")");
    std::string scores;
    for (const auto& [step, loss] : recorded.scores)
      scores += JsonLine("eval")
                    .add("step", step)
                    .add("t_us", static_cast<std::int64_t>(step) * 1'000'000)
                    .add("loss", loss)
                    .add("rmse_u10m", 0.5)
                    .text();
    text.insert(end, scores);
    write_file_whole(run.stream_file(rank), std::string_view(text));
  }
  return scaling_run(steady_figures(folder.path()));
}

ScalingPoint point_of(const Recorded& recorded, ScalingLine line = ScalingLine::real) {
  return {.line = line, .ranks = recorded.ranks, .runs = {run_of(recorded)}};
}

double efficiency(const Scaling& scaling, std::int64_t ranks, ScalingLine line = ScalingLine::real) {
  const ScalingFigures* const point = scaling.find(line, ranks);
  REQUIRE(point != nullptr);
  REQUIRE(point->efficiency);
  return point->efficiency->value;
}

}  // namespace

TEST_CASE("six recorded runs give the efficiency of both laws to three digits") {
  // The slowest rank counts: 50.0 x 1.02 = 51.0 ms and 66.0 x 1.02 = 67.32 ms against 40 ms.
  const Scaling weak = judge_scaling(
      ScalingLaw::weak, {point_of({.ranks = 1}), point_of({.ranks = 2, .step_us = 50'000, .comm_us = 5100}),
                         point_of({.ranks = 4, .step_us = 66'000, .comm_us = 13'464})});
  CHECK(efficiency(weak, 1) == 1);
  CHECK(efficiency(weak, 2) == Approx(0.784).margin(0.0005));
  CHECK(efficiency(weak, 4) == Approx(0.594).margin(0.0005));
  CHECK(weak.points[1].batch == 8);
  CHECK(weak.points[1].samples_per_s.median() == Approx(8 / 0.051));
  CHECK(weak.points[1].exposed_share.value() == Approx(0.1));
  CHECK(weak.points[2].exposed_us.value() == Approx(13'464));
  // 4 ranks take 1e6 / (16 / 0.06732) seconds for a million samples.
  CHECK(weak.points[2].rank_hours_per_million.value() == Approx(4 * 1e6 * 0.06732 / 16 / 3600));
  CHECK(weak.notes.empty());
  CHECK(*weak.ideal_rate(4) == Approx(400));

  const Scaling strong =
      judge_scaling(ScalingLaw::strong, {point_of({.ranks = 1, .samples = 8, .step_us = 80'000}),
                                         point_of({.ranks = 2, .samples = 4, .step_us = 45'000}),
                                         point_of({.ranks = 4, .samples = 2, .step_us = 30'000})});
  CHECK(efficiency(strong, 2) == Approx(80 / (2 * 45.9)).epsilon(1e-9));
  CHECK(efficiency(strong, 2) == Approx(0.871).margin(0.0005));
  CHECK(efficiency(strong, 4) == Approx(0.654).margin(0.0005));
  CHECK(strong.points[2].batch == 8);
}

TEST_CASE("a point without a run is a gap, and so is what rests on it") {
  const std::vector<ScalingPoint> points = {
      point_of({.ranks = 1}),
      {.line = ScalingLine::real, .ranks = 2, .missing = "out of memory"},
      point_of({.ranks = 4}),
      {.line = ScalingLine::synthetic, .ranks = 1, .missing = "stopped"},
      point_of({.ranks = 2}, ScalingLine::synthetic),
      point_of({.ranks = 4}, ScalingLine::synthetic)};
  const Scaling scaling = judge_scaling(ScalingLaw::weak, points);
  CHECK(scaling.points[1].is_gap());
  CHECK_FALSE(scaling.points[1].efficiency);
  CHECK(scaling.points[1].rank_hours_per_million == std::nullopt);
  CHECK(efficiency(scaling, 4) == Approx(1 / 1.02));
  CHECK_FALSE(scaling.points[4].is_gap());
  CHECK_FALSE(scaling.points[4].efficiency);  // another line's base is no base
  const std::string notes = joined(scaling.notes);
  CHECK_THAT(notes, says("real, 2 ranks: a gap: out of memory") &&
                        says("synthetic: 1 rank has no value, so that nothing has an efficiency"));
  CHECK(count_of(notes, "synthetic: 1 rank") == 1);
  CHECK_FALSE(step_parts(scaling, 4));
  CHECK(judge_scaling(ScalingLaw::weak, {}).points.empty());
  ScalingPoint brief = point_of({.ranks = 2});
  brief.runs.front().step_us = brief.runs.front().samples_per_s = 0;
  const Scaling short_run = judge_scaling(
      ScalingLaw::weak, {{.ranks = 1, .missing = "stopped"}, brief, {.ranks = 4, .missing = "stopped"}});
  CHECK_THAT(joined(short_run.notes, "\n"), says("real, 1 rank; real, 4 ranks: a gap: stopped\n") &&
                                                says("real, 2 ranks: no rate: no step lies behind"));
}

TEST_CASE("what cannot be compared has no efficiency, and it is said why") {
  const Scaling wrong = judge_scaling(ScalingLaw::strong, {point_of({.ranks = 1}), point_of({.ranks = 2}),
                                                           point_of({.ranks = 4, .samples = 1})});
  CHECK_FALSE(wrong.points[1].efficiency);
  CHECK(wrong.points[2].efficiency);
  CHECK_THAT(joined(wrong.notes), says("real, 2 ranks: no efficiency: a step has 8 samples") &&
                                      says("strong scaling from 1 rank wants 4"));

  ScalingPoint elsewhere = point_of({.ranks = 2});
  elsewhere.runs.front().where = "recorded on NVIDIA H200, 2026-11-21";
  const Scaling mixed = judge_scaling(ScalingLaw::weak, {point_of({.ranks = 1}), elsewhere});
  CHECK_FALSE(mixed.points[1].efficiency);
  CHECK_THAT(joined(mixed.notes), says("it is of recorded on NVIDIA H200, 2026-11-21, the base of cpu"));
}

TEST_CASE("without one rank the fewest are the base, which is said") {
  const Scaling scaling =
      judge_scaling(ScalingLaw::strong, {point_of({.ranks = 2, .samples = 8, .step_us = 50'000}),
                                         point_of({.ranks = 4, .samples = 4, .step_us = 30'000})});
  CHECK(scaling.base_ranks == 2);
  CHECK(efficiency(scaling, 4) == Approx(2 * 50.0 / (4 * 30.0)));
  CHECK_THAT(joined(scaling.notes), says("against 2 ranks, the fewest"));
}

TEST_CASE("repeats: the median counts, and bars hold every pair of them") {
  ScalingPoint one{.ranks = 1};
  ScalingPoint two{.ranks = 2, .missing = "rank 1 was killed"};
  for (const std::int64_t step_us : {40'000, 44'000, 41'000})
    one.runs.push_back(run_of({.step_us = step_us}));
  for (const std::int64_t step_us : {50'000, 100'000})
    two.runs.push_back(run_of({.ranks = 2, .step_us = step_us}));
  const Scaling scaling = judge_scaling(ScalingLaw::weak, {one, two});
  const ScalingFigures& at = scaling.points[1];
  CHECK(scaling.points[0].step_us.median() == Approx(41'000));
  CHECK(at.efficiency->value == Approx(41 / 76.5));
  CHECK(at.efficiency->least == Approx(40 / 102.0));
  CHECK(at.efficiency->most == Approx(44 / 51.0));
  CHECK_THAT(joined(scaling.notes), says("real, 2 ranks: only 2 repeats: rank 1 was killed"));
}

TEST_CASE("the parts of a real step add up to it, by either law") {
  const auto thrice = [](ScalingPoint point) {
    point.runs.resize(3, point.runs.front());
    return point;
  };
  const auto points = [&](std::int64_t samples) {
    return std::vector<ScalingPoint>{
        thrice(point_of({.ranks = 1, .step_us = 40'000}, ScalingLine::no_comm)),
        thrice(point_of({.ranks = 1, .step_us = 40'000}, ScalingLine::synthetic)),
        thrice(point_of({.ranks = 1, .step_us = 42'000})),
        thrice(point_of({.ranks = 2, .samples = samples, .step_us = 50'000}, ScalingLine::no_comm)),
        thrice(point_of({.ranks = 2, .samples = samples, .step_us = 60'000}, ScalingLine::synthetic)),
        thrice(point_of({.ranks = 2, .samples = samples, .step_us = 70'000}))};
  };
  const ScalingParts weak = *step_parts(judge_scaling(ScalingLaw::weak, points(4)), 2);
  CHECK(weak.ideal_us == Approx(40'000));
  CHECK_FALSE(weak.comm.is_noise);
  CHECK(weak.beside.time_us == Approx(11'000));
  CHECK(weak.comm.time_us == Approx(10'200));
  CHECK(weak.data.time_us == Approx(10'200));
  std::vector<ScalingPoint> odd = points(4);
  // Quicker than without averaging.
  odd[4] = thrice(point_of({.ranks = 2, .step_us = 45'000}, ScalingLine::synthetic));
  const ScalingParts noisy = *step_parts(judge_scaling(ScalingLaw::weak, odd), 2);
  CHECK(noisy.comm.time_us == Approx(-5100));
  CHECK(noisy.comm.is_noise);
  CHECK_FALSE(noisy.data.is_noise);
  odd[5] = point_of({.ranks = 2, .step_us = 70'000});
  CHECK(step_parts(judge_scaling(ScalingLaw::weak, odd), 2)->data.is_noise);  // of a single run
  const ScalingParts strong = *step_parts(judge_scaling(ScalingLaw::strong, points(2)), 2);
  CHECK(strong.ideal_us == Approx(20'000));
  CHECK(strong.ideal_us + strong.beside.time_us + strong.comm.time_us + strong.data.time_us ==
        Approx(71'400));
}

TEST_CASE("the time to a loss is the middle one of the repeats, and none where it never came there") {
  const Recorded quick{.measure = "none", .scores = {{0, 1.0}, {5, 0.5}, {9, 0.39}, {13, 0.35}}};
  const Recorded slow{.measure = "none", .scores = {{0, 1.0}, {13, 0.4}}};
  const Recorded never{.measure = "none", .scores = {{0, 1.0}, {13, 0.41}}};
  const Recorded broken{.measure = "none", .scores = {{13, std::nan("")}}};
  const auto reach = [](const std::vector<Recorded>& repeats) {
    ScalingPoint point{.ranks = 1};
    for (const Recorded& one : repeats) point.runs.push_back(run_of(one));
    return *judge_scaling(ScalingLaw::weak, {point}, 0.4).points.front().to_target;
  };
  const ToTarget most = reach({never, quick, slow});
  CHECK(most.reached == 2);
  CHECK(most.of == 3);
  CHECK(most.time_s.value() == Approx(13));  // 9, 13, never
  CHECK(most.rank_hours.value() == Approx(13 / 3600.0));
  CHECK(most.samples == 13 * 4);
  CHECK(reach({quick}).time_s.value() == Approx(9));
  CHECK(reach({quick, slow}).time_s.value() == Approx(11));
  CHECK(reach({quick, never, broken}).time_s == std::nullopt);
  CHECK(reach({never}).rank_hours == std::nullopt);
  CHECK_FALSE(judge_scaling(ScalingLaw::weak, {point_of({})}, 0.4).points.front().to_target);
}

TEST_CASE("sentences are broken at spaces") {
  CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("unbreakable x", 4) == std::vector<std::string>{"unbreakable", "x"});
  CHECK(wrapped("", 4).empty());
}

}  // namespace isobar::test_scaling
