// Runs of a lesson in one picture.
#include "analyse/run_case.h"
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
