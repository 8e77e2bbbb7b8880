#include "plot/run_drawings.h"
#include "support/catch.h"

using namespace isobar;

namespace {

SteadyFigures run_of(double step_us, double load_us, double samples_per_s) {
  SteadyFigures out;
  out.samples_per_s = samples_per_s;
  out.means = {{"step_us", step_us}, {"load_us", load_us}, {"backward_us", 500}, {"idle_us", 7}};
  return out;
}

}  // namespace

TEST_CASE("stages are those of the repeat with the median step, and add up to it") {
  const Repeats repeats = {run_of(3000, 2400, 10), run_of(1000, 400, 30), run_of(2000, 100, 20)};
  const StageTimes stages = stage_times(repeats);
  CHECK(stages == StageTimes{{"load", 100}, {"backward", 500}, {"rest", 1400}});
  CHECK(total_us(stages) == means(repeats, "step_us").median());
  CHECK(stage_times({repeats[0], repeats[1]}).front().second == 400);  // two have the faster one's
  CHECK(stage_times({SteadyFigures{}}).empty());
  const ScoreRow row = score_row(repeats);
  CHECK(row.rate == 20);
  CHECK(row.rate_words == "20 /s");
  CHECK(row.range_words == "10 to 30");
  CHECK(row.step_words == "2.0 ms a step");
  CHECK(row.stages_us == stages);
}

TEST_CASE("small parts of a difference are one bar of a waterfall, and the bars add up") {
  RunComparison found;
  found.per = "step";
  found.stages = {{"load", 1000, 100}, {"copy", 10, 20}, {"backward", 500, 700}, {"optimize", 50, 45}};
  found.step = {"step", 1560, 865};
  const WaterfallSpec spec = waterfall_of(found, "A", "B");
  CHECK(spec.terms == StageTimes{{"load", -900}, {"backward", 200}, {"others", 5}});
  double reached_us = spec.base_us;
  for (const auto& [stage, us] : spec.terms) reached_us += us;
  CHECK(reached_us == spec.other_us);
}
