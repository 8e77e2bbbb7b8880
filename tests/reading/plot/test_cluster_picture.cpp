// Pictures of predictions: a mark for each point by class and split, and a whisker where a range is open.
#include "core/pattern.h"
#include "core/text.h"
#include "plot/cluster_picture.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_cluster_picture {

namespace {

/// How often `part` stands in the picture.
std::size_t count(const Drawing& drawing, const std::string& part) {
  return matches_of(drawing_svg(drawing), part).size();
}

PublishedPoint point_of(const std::string& id, PointClass kind, PointSplit split, int gpus) {
  PublishedPoint out;
  out.id = id;
  out.kind = kind;
  out.split = split;
  out.gpus = gpus;
  return out;
}

ClusterPrediction cluster_of(const std::string& name, const std::vector<OpenRange>& efficiencies) {
  ClusterPrediction out{.machine = {}, .device = "A100"};
  out.machine.name = name;
  int ranks = 1;
  for (const OpenRange& efficiency : efficiencies) {
    ClusterPoint point;
    point.ranks = ranks;
    point.efficiency = efficiency;
    out.points.push_back(point);
    ranks *= 2;
  }
  return out;
}

const std::string kHollow = "<circle[^>]*fill=\"none\"";
const std::string kFilled = "<circle[^>]*fill=\"#0072b2\"";

}  // namespace

TEST_CASE("errors have a shape for each class, filled where nothing was fitted, and a mark at the edge") {
  const PublishedPoint dp = point_of("a", PointClass::dp, PointSplit::test, 8);
  const PublishedPoint fit = point_of("b", PointClass::dp, PointSplit::calibration, 64);
  const PublishedPoint fsdp = point_of("c", PointClass::fsdp, PointSplit::test, 64);
  const PublishedPoint base = point_of("base", PointClass::dp, PointSplit::calibration, 1);
  BackTest test;
  const auto add = [&](const PublishedPoint& point, std::optional<double> error) {
    PointResult result;
    result.point = &point;
    result.anchor = &base;
    result.predicted = error ? std::optional(100 * (1 + *error)) : std::nullopt;
    result.error = error.value_or(0);
    test.results.push_back(result);
  };
  add(dp, 0.05);
  add(fit, -0.2);
  add(fsdp, 0.01);
  add(dp, std::nullopt);  // was not predicted
  const Drawing near = errors_drawing(test, "points.toml");
  // Each with its entry of the legend.
  CHECK(count(near, kFilled) == 2);
  CHECK(count(near, kHollow) == 2);
  CHECK_THAT(near.alt, says("2 points that nothing was fitted to: median |error| 3.0 %") &&
                           says("1 points of the fit: median |error| 20.0 %"));
  const std::string svg = drawing_svg(near);
  CHECK_THAT(svg, says("data parallel, test") && says("data parallel, calibration") &&
                      says("sharded, test") && !says("sharded, calibration") && says("points.toml") &&
                      !says("further off") && !says("suspect"));
  CHECK_THAT(svg, says(">8<") && says(">64<") && says("GPUs (logarithmic)"));
  add(dp, 1.3);
  test.results.back().suspect = "35 % slower";
  const Drawing far = errors_drawing(test, "points.toml");
  CHECK(count(far, kFilled) == 2);  // a triangle instead
  CHECK(count(far, kHollow) == 2 + 2);
  CHECK_THAT(drawing_svg(far), says("1 point further off, up to +130 %") && says("measurement is suspect"));
}

TEST_CASE("each cluster has a dotted line, its value at the end, and whiskers where something is open") {
  const std::vector<ClusterPrediction> both = {
      cluster_of("north", {{1, 1, 1}, {0.9, 0.85, 0.95}, {0.8, 0.7, 0.9}}),
      cluster_of("south", {{1, 1, 1}, {0.9, 0.9, 0.9}, {0.88, 0.88, 0.88}})};
  const Drawing drawing = clusters_drawing("06_ddp", both);
  CHECK(drawing.title == "06_ddp, weak scaling on clusters");
  CHECK(drawing.alt ==
        "Efficiency by number of GPUs. north: 80 % (70 to 90 %) on 4 GPUs; south: 88 % on 4 "
        "GPUs.");
  const auto whiskers = [](const Drawing& of) { return count(of, "<polyline[^>]*stroke-width=\"1.3\""); };
  CHECK(whiskers(drawing) == 2 * 3);  // a bar and its two ends
  CHECK(whiskers(clusters_drawing("06_ddp", {both[1]})) == 0);
  const std::string svg = drawing_svg(drawing);
  CHECK_THAT(svg, says("north: 80 %") && says("south: 88 %") && says("the axis begins at 60 %"));
  const std::string text = joined(drawing_lines(drawing, {.glyphs = TextStyle::Glyphs::ascii}), "\n");
  CHECK_THAT(text, says("north: 80 % (70 to 90 %) on 4 GPUs") && says("efficiency in %"));
}

TEST_CASE("without a predicted point the picture of errors is its words") {
  const Drawing nothing = errors_drawing(BackTest(), "points.toml");
  CHECK_FALSE(nothing.body);
  CHECK_THAT(joined(drawing_lines(nothing, {}), "\n"), says("Errors of predictions by number of GPUs."));
}

}  // namespace isobar::test_cluster_picture
