// The pictures of commands: the curve of a run, the two panels of a scaling.

#include "core/files.h"
#include "core/pattern.h"
#include "draw/stage_bars.h"
#include "draw/svg_canvas.h"
#include "plot/scaling_picture.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// A run whose scores have these RMSE, ten steps apart.
RunReader scored(const TempFolder& folder, const std::vector<double>& rmse) {
  std::string text = JsonLine("run").add("schema", 1).add("lesson", "01_baseline").text();
  for (std::size_t i = 0; i < rmse.size(); ++i) {
    text += JsonLine("eval")
                .add("step", static_cast<int>(10 * i))
                .add("loss", 0.4)
                .add("rmse_u10m", rmse[i])
                .add("persistence_rmse_u10m", 0.4)
                .text();
  }
  write_file_whole(folder / "run.toml", "");
  write_file_whole(folder / "rank-0000.jsonl", text);
  RunReader reader(folder.path());
  reader.read_all();
  return reader;
}

ScalingPoint point_of(std::int64_t ranks, double step_us, ScalingLine line = ScalingLine::real) {
  const double batch = 4 * static_cast<double>(ranks);
  const auto run = [&](double us) {
    ScalingRun out;
    out.ranks = ranks;
    out.batch = batch;
    out.step_us = us;
    out.samples_per_s = batch / us * 1e6;
    return out;
  };
  return {.line = line, .ranks = ranks, .runs = {run(step_us), run(step_us * 1.05), run(step_us * 0.96)}};
}

/// How often `part` stands in the text.
std::size_t count(const std::string& text, const std::string& part) { return matches_of(text, part).size(); }

/// Lines of a colour that join values: bars and crosses have other widths.
std::size_t joined(const std::string& svg, const std::string& colour) {
  return count(svg, "<polyline[^>]*" + colour + "\" stroke-width=\"1.8\"");
}

}  // namespace

TEST_CASE("the curve is drawn from the scores, and needs two of them") {
  const TempFolder folder;
  const std::string svg = draw_curve(scored(folder, {0.25, 0.2}));
  CHECK_THAT(svg, says("<svg") && says("forecast 0.200") && says("persistence 0.400") && says("polyline"));
  const TempFolder once;
  CHECK_THAT(error_of([&] { draw_curve(scored(once, {0.25})); }), says("fewer than two scores"));
}

TEST_CASE("the picture of a scaling breaks its lines at a gap, and marks it") {
  const Scaling scaling =
      judge_scaling(ScalingLaw::weak, {point_of(1, 40'000),
                                       {.line = ScalingLine::real, .ranks = 2, .missing = "out of memory"},
                                       point_of(4, 41'000),
                                       {.line = ScalingLine::synthetic, .ranks = 1, .missing = "stopped"},
                                       point_of(2, 40'000, ScalingLine::synthetic),
                                       point_of(4, 40'000, ScalingLine::synthetic)});
  const std::string svg = draw_scaling(scaling, {}, {"Weak scaling", "here", {"three runs"}});
  // Of real neither panel has a line, since its two points have a gap between them; synthetic has one line.
  CHECK(joined(svg, "#0072b2") == 0);
  CHECK(joined(svg, "#d55e00") == 1);
  CHECK_THAT(svg, says("no value") && says("three runs"));
  // Crosses are two strokes each: of real one a panel, of synthetic one beside three, and one in the legend.
  CHECK(count(svg, "stroke-width=\"1.75\"") == 2 * (2 + 4));
  CHECK(count(svg, "stroke=\"#5b6470\" stroke-width=\"2\" stroke-linejoin") == 2);
}

TEST_CASE("the picture of a scaling holds its protocol, and nothing to draw is an error") {
  const Scaling scaling =
      judge_scaling(ScalingLaw::weak,
                    {point_of(1, 40'000), point_of(2, 46'000), point_of(64, 52'000),
                     point_of(1, 39'000, ScalingLine::synthetic), point_of(2, 43'000, ScalingLine::synthetic),
                     point_of(64, 47'000, ScalingLine::synthetic)});
  const std::string svg = draw_scaling(
      scaling, {},
      {"Weak scaling of <06>", "measured here", {"median of 3 runs", std::string(300, 'x') + " end"}});
  CHECK_THAT(svg, says("Weak scaling of &lt;06&gt;") && says("median of 3 runs") && says("ideal") &&
                      says(">64<") && says("samples/s of all ranks") && says("efficiency in % of 1 rank") &&
                      !says("no value") && !says("nan") && !says("inf"));
  CHECK(joined(svg, "#0072b2") == 2);
  const Scaling nothing = judge_scaling(ScalingLaw::weak, {{.ranks = 1}, {.ranks = 2}});
  CHECK_THAT(failure_of([&] { draw_scaling(nothing, {}, {"t", "s", {}}); }), says("no point has a value"));
}

TEST_CASE("what is simulated is dotted with hollow marks, and what was measured is not") {
  const Scaling scaling = judge_scaling(ScalingLaw::weak, {point_of(1, 40'000), point_of(2, 46'000)});
  SimulatedScaling simulated;
  for (const int ranks : {1, 2, 4, 8})
    simulated.points.push_back({.ranks = ranks, .samples_per_s = 90.0 * ranks, .efficiency = 0.9});
  simulated.points.push_back({.ranks = 2, .shares_processors = true, .samples_per_s = 77, .efficiency = 0.7});
  const auto drawn = [&](const SimulatedScaling& beyond) {
    return draw_scaling(scaling, beyond, {"Weak scaling", "here", {}});
  };
  const std::string svg = drawn(simulated), measured = drawn({});
  const std::string real = "#0072b2", dotted = "<polyline[^>]*stroke-width=\"1.8\"[^>]*stroke-dasharray";
  CHECK_THAT(svg, says(">simulated, not measured<") && says(">8<") && says(">90.0 %<"));
  CHECK_THAT(measured, !says("simulated") && !says(">8<"));
  CHECK(count(svg, dotted) == count(measured, dotted) + 2);  // a line in each panel
  CHECK(joined(svg, real) == joined(measured, real));
  const std::string hollow = "<circle[^>]*fill=\"none\"";
  CHECK(count(svg, hollow) == count(measured, hollow) + 2 * 4 + 1);  // shared processors are in no line
}

TEST_CASE("a measured step is solid, a predicted one pale with a dotted edge, both on one scale") {
  const std::vector<StageBar> bars = {
      {"Predicted", "30.0 ms", {{"load", 10'000}, {"forward", 20'000}}, true},
      {"Measured", "60.0 ms", {{"load", 20'000}, {"forward", 40'000}}, false}};
  const Theme& theme = theme_of(true);
  const auto drawn = [&](const std::vector<StageBar>& of) {
    SvgCanvas canvas(600, 200, theme.panel);
    paint_stage_bars(canvas, theme, of, {0, 0, 600, 200});
    return canvas.text();
  };
  const std::string both = drawn(bars);
  CHECK(count_of(both, "stroke-dasharray") == 2);
  CHECK(count_of(drawn({bars[1]}), "stroke-dasharray") == 0);
  CHECK_THAT(both, says("forward 40.0 ms") && says("30.0 ms") && says("Measured"));
  CHECK(stage_bars_csv(bars) ==
        "step,provenance,stage,us\n\"Predicted\",predicted,load,10000.0\n\"Predicted\",predicted,forward,"
        "20000.0\n"
        "\"Measured\",measured,load,20000.0\n\"Measured\",measured,forward,40000.0\n");
}
