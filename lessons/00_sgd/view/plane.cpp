#include "00_sgd/view/plane.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace isobar::lesson_00 {
namespace {

constexpr int kBands = 14;
constexpr double kBand = 2.2;  // each contour stands for so many times the height of the next lower one
constexpr int kParts = 240;
constexpr float kHighest = 0.5F;  // how much of the grey the highest ground has
constexpr double kFar = 1e9;

bool is_drawable(const Line& line) { return std::abs(line.slope) < kFar && std::abs(line.intercept) < kFar; }

void take_in(DescentScene& scene, const Line& line) {
  if (!is_drawable(line)) return;
  scene.low = {std::min(scene.low.slope, line.slope), std::min(scene.low.intercept, line.intercept)};
  scene.high = {std::max(scene.high.slope, line.slope), std::max(scene.high.intercept, line.intercept)};
}

void widen(double& low, double& high) {
  const double margin = std::max(0.1 * (high - low), 1e-6 * std::max(1.0, std::abs(high)));
  low -= margin;
  high += margin;
}

double highest(const DescentScene& scene) {
  double out = 0;
  for (const double slope : {scene.low.slope, scene.high.slope}) {
    for (const double intercept : {scene.low.intercept, scene.high.intercept})
      out = std::max(out, scene.bowl.loss({slope, intercept}) - scene.bowl.least_loss());
  }
  return out;
}

void paint_contours(Sketch& sketch, const DescentScene& scene, const ChartArea& area) {
  const Theme& theme = sketch.theme();
  sketch.canvas().fill(area.box, mixed(theme.panel, theme.dim, kHighest));
  double height = highest(scene);
  for (int band = 1; band <= kBands; ++band) {
    height /= kBand;
    std::vector<PlotPoint> ellipse;
    for (const Line& line : scene.bowl.contour(height, kParts))
      ellipse.push_back(area.at(line.slope, line.intercept));
    const float part = kHighest * (1 - static_cast<float>(band) / kBands);
    sketch.canvas().polygon(ellipse, mixed(theme.panel, theme.dim, part));
    ellipse.push_back(ellipse.front());
    sketch.canvas().line(ellipse, with_alpha(theme.dim, 0.35F), sketch.px(1), Dash::solid);
  }
}

void paint_path(Sketch& sketch, const ScenePath& path, const ChartArea& area) {
  constexpr std::size_t kMostMarks = 400;
  std::vector<PlotPoint> places;
  for (const Line& line : path.path) {
    if (!is_drawable(line)) break;
    places.push_back(area.at(line.slope, line.intercept));
  }
  if (places.size() > 1) sketch.canvas().line(places, path.colour, sketch.px(1.5F), path.dash);
  for (std::size_t i = 1; i < std::min(places.size(), kMostMarks); ++i)
    sketch.mark(places[i], path.mark, path.colour, 2.5F);
  if (!places.empty()) sketch.mark(places.front(), Mark::ring, path.colour, 5);
}

}  // namespace

std::vector<ScenePath> rank_paths(const Descent& descent, std::size_t steps, const Theme& theme) {
  static constexpr std::array<Mark, 4> kMarks = {Mark::circle, Mark::square, Mark::triangle, Mark::diamond};
  std::vector<ScenePath> out;
  for (std::size_t rank = 0; rank < descent.ranks.size(); ++rank) {
    std::vector<Line> path = descent.ranks[rank].path();
    path.resize(std::min(path.size(), steps + 1));
    out.push_back({fmt::format("rank {}", rank), std::move(path), theme.series[rank % theme.series.size()],
                   kMarks[rank % kMarks.size()]});
  }
  const bool are_one =
      std::ranges::all_of(out, [&](const ScenePath& one) { return one.path == out.front().path; });
  if (!are_one) return out;
  out.resize(std::min<std::size_t>(1, out.size()));
  for (ScenePath& one : out) one.label = descent.ranks.size() == 1 ? "path" : "path of all ranks";
  return out;
}

void fit_scene(DescentScene& scene, bool with_bottom) {
  scene.low = scene.high = scene.bowl.bottom();
  if (!with_bottom && !scene.arrows.empty()) scene.low = scene.high = scene.arrows.front().from;
  for (const ScenePath& path : scene.paths) {
    for (const Line& line : path.path) take_in(scene, line);
  }
  for (const SceneArrow& arrow : scene.arrows) {
    take_in(scene, arrow.from);
    take_in(scene, arrow.to);
  }
  widen(scene.low.slope, scene.high.slope);
  widen(scene.low.intercept, scene.high.intercept);
}

ChartArea paint_scene(Sketch& sketch, const DescentScene& scene, PlotPoint at, float width, float height) {
  ChartSpec spec;
  spec.x = {.least = scene.low.slope, .most = scene.high.slope};
  spec.y = {.least = scene.low.intercept, .most = scene.high.intercept};
  spec.x_title = "slope";
  spec.y_title = "intercept; lines of equal loss";
  spec.height = height;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  sketch.canvas().push_clip(area.box);
  paint_contours(sketch, scene, area);
  const PlotPoint bottom = area.at(scene.bowl.bottom().slope, scene.bowl.bottom().intercept);
  for (const ScenePath& path : scene.paths) paint_path(sketch, path, area);
  sketch.mark(bottom, Mark::cross, sketch.theme().text, 6);
  sketch.canvas().pop_clip();
  double middle = 0;  // labels stand on the outer side
  for (const SceneArrow& arrow : scene.arrows)
    middle += arrow.to.slope / static_cast<double>(scene.arrows.size());
  for (const SceneArrow& arrow : scene.arrows) {
    if (!is_drawable(arrow.to)) continue;
    const PlotPoint from = area.at(arrow.from.slope, arrow.from.intercept);
    const PlotPoint to = area.at(arrow.to.slope, arrow.to.intercept);
    sketch.arrow(from, to, arrow.colour, arrow.width);
    if (!arrow.label.empty()) {
      const bool leftwards = arrow.to.slope < middle;
      sketch.canvas().text(to.x + (leftwards ? -sketch.px(6) : sketch.px(6)), to.y + sketch.px(2),
                           arrow.label, Face::small, sketch.theme().text, leftwards ? 1.0F : 0.0F);
    }
  }
  return area;
}

float paint_scene_legend(Sketch& sketch, const DescentScene& scene, PlotPoint at, float width) {
  std::vector<LegendEntry> entries;
  for (const ScenePath& path : scene.paths) {
    if (!path.label.empty()) entries.push_back({path.label, path.colour, Hatch::none, path.dash, path.mark});
  }
  entries.push_back({.words = "least loss", .colour = sketch.theme().text, .mark = Mark::cross});
  return sketch.legend(at, width, entries);
}

ChartArea paint_fit(Sketch& sketch, const LinePoints& points, const std::vector<FitLine>& lines,
                    const std::vector<std::int64_t>& batch, PlotPoint at, float width, float height) {
  constexpr std::size_t kMostPoints = 1000;
  const Theme& theme = sketch.theme();
  const auto [low, high] = std::minmax_element(points.y.begin(), points.y.end());
  ChartSpec spec;
  spec.x = {.least = 0, .most = 1};
  spec.y = {.least = *low, .most = *high};
  widen(spec.y.least, spec.y.most);
  spec.x_title = "x";
  spec.y_title = "y of the points, and the line";
  spec.height = height;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  sketch.canvas().push_clip(area.box);
  const std::size_t stride = 1 + points.x.size() / kMostPoints;
  for (std::size_t i = 0; i < points.x.size(); i += stride)
    sketch.canvas().circle(area.at(points.x[i], points.y[i]), sketch.px(1.5F), with_alpha(theme.dim, 0.6F),
                           true);
  for (std::size_t i = 0; i < std::min(batch.size(), kMostPoints); ++i) {
    const PlotPoint place = area.at(points.x_of(batch[i]), points.y_of(batch[i]));
    sketch.canvas().circle(place, sketch.px(2.5F), theme.series[1], true);
  }
  for (const FitLine& fit : lines) {
    if (!is_drawable(fit.line)) continue;
    const std::vector<PlotPoint> ends = {area.at(0, fit.line.at(0)), area.at(1, fit.line.at(1))};
    sketch.canvas().line(ends, fit.colour, sketch.px(2), fit.dash);
  }
  sketch.canvas().pop_clip();
  return area;
}

}  // namespace isobar::lesson_00
