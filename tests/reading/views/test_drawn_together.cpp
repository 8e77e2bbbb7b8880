// Runs of a lesson in one picture.
#include "analyse/run_case.h"
#include "core/error.h"
#include "core/text.h"
#include "course/made_descent.h"
#include "plot/lesson_view.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

TEST_CASE("the paths of several runs lie in one plane, each with its name") {
  MadeDescents made;
  const RunCase few = read_case(made.add("few", {.sets = {"train.global_batch=1"}}));
  const RunCase all = read_case(made.add("all", {.sets = {"train.global_batch=1000"}}));
  const RunCase apart = read_case(made.add("apart", {.sets = {"run.fault=no_average"}, .ranks = 4}));
  const auto lines = [](const Drawing& drawing) {
    return isobar::joined(drawing_lines(drawing, {.columns = 80}), "\n");
  };
  const Drawing paths = drawn_together("descent_best", {{"one sample", &few}, {"all of them", &all}});
  CHECK_THAT(lines(paths), says("one sample") && says("all of them") && says("lines of equal loss"));
  CHECK_THAT(paths.alt, says("one sample: ") && says("degrees"));
  CHECK_THAT(lines(drawn_together("rank_paths", {{"four", &apart}})),
             says("four, rank 0") && says("four, rank 3"));
  CHECK_FALSE(drawn_together("curve", {{"few", &few}}).body);
  CHECK_FALSE(drawn_together("descent_best", {}).body);
}

TEST_CASE("panels of choices are pictures without their settings, in the order that is asked for") {
  const auto lines = [](const std::vector<Drawing>& panels, std::size_t at) {
    return isobar::joined(drawing_lines(panels.at(at), {.columns = 40}), "\n");
  };
  const auto one = choice_panels("00_sgd", {{"train.global_batch=1"}, {"train.global_batch=1000"}});
  const auto other = choice_panels("00_sgd", {{"train.global_batch=1000"}, {"train.global_batch=1"}});
  REQUIRE(one.size() == 2);
  CHECK(lines(one, 0) == lines(other, 1));
  CHECK(lines(one, 1) == lines(other, 0));
  CHECK(lines(one, 0) != lines(one, 1));
  CHECK_THAT(lines(one, 1), !says("1000") && says("lines of equal loss"));
  CHECK_THAT(one[1].alt, says("turns by 3 degrees") && !says("1000"));
  const auto timelines = choice_panels(
      "02_workers", {{"data.workers=0"}, {"data.workers=2"}, {"data.workers=2", "run.fault=slow_worker"}});
  REQUIRE(timelines.size() == 3);
  CHECK_THAT(lines(timelines, 0), says("the loop") && !says("worker"));
  CHECK_THAT(lines(timelines, 1), says("worker 2"));
  CHECK(lines(timelines, 1) != lines(timelines, 2));
  CHECK(choice_panels("01_baseline", {{}}).empty());
  CHECK_THROWS_AS(choice_panels("00_sgd", {{"train.global_batch=nothing"}}), Error);
}
