// Lesson 00: the path of the run, its line among the points, and its loss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/descent.h"
#include "core/files.h"
#include "draw/descent_scene.h"
#include "draw/own/own_run.h"

namespace isobar {
namespace {

float paint_loss(Sketch& sketch, const Descent& descent, const LossBowl& bowl, PlotPoint at, float width) {
  const std::vector<DescentStep>& steps = descent.ranks.front().steps;
  ChartSpec spec;
  double most = 2 * bowl.least_loss(), least = bowl.least_loss();
  for (const DescentStep& step : steps) {
    if (!std::isfinite(step.loss) || step.loss <= 0) continue;
    most = std::max(most, step.loss);
    least = std::min(least, step.loss);
  }
  spec.x = {.least = 0, .most = std::max<double>(1, static_cast<double>(steps.size())), .whole = true};
  spec.y = {.least = std::max(0.7 * least, 1e-300), .most = 1.4 * most, .log = true};
  spec.x_title = fmt::format("steps of {} samples", descent.batch());
  spec.y_title = "loss of each step's batch";
  spec.height = 170;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  std::vector<PlotPoint> line;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!std::isfinite(steps[i].loss) || steps[i].loss <= 0) break;
    line.push_back(area.at(static_cast<double>(i), steps[i].loss));
  }
  sketch.canvas().push_clip(area.box);
  if (line.size() > 1) sketch.canvas().line(line, sketch.theme().series[0], sketch.px(1.5F), Dash::solid);
  const float floor = area.y.pixel(bowl.least_loss());
  sketch.line({area.box.x0, floor}, {area.box.x1, floor}, sketch.theme().dim, 1, Dash::dashed);
  sketch.canvas().pop_clip();
  return area.end;
}

float paint_descent(Sketch& sketch, const Descent& descent, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  DescentScene scene{LossBowl(descent.points)};
  scene.paths = rank_paths(descent, descent.steps(), theme);
  fit_scene(scene);
  at.y = paint_scene_legend(sketch, scene, at, width);
  at.y = paint_scene(sketch, scene, at, width, 300).end + sketch.px(10);
  const float half = (width - sketch.px(16)) / 2;
  const Line& end = descent.ranks.front().before(descent.steps());
  const float fit =
      paint_fit(sketch, descent.points,
                {{descent.ranks.front().start, theme.dim, Dash::dashed}, {end, theme.series[0]}}, {}, at,
                half, 170)
          .end;
  const float loss = paint_loss(sketch, descent, scene.bowl, {at.x + half + sketch.px(16), at.y}, half);
  return std::max(fit, loss);
}

}  // namespace

OwnPicture own_descent(const OwnRun& run) {
  auto descent = std::make_shared<const Descent>(read_descent(run.folder, project_home()));
  const LossBowl bowl(descent->points);
  const Line& end = descent->ranks.front().before(descent->steps());
  const std::string alt = fmt::format(
      "Contours of the loss over slope and intercept with the path of {} steps from slope {:g}, intercept "
      "{:g} to slope {:.4g}, intercept {:.4g}, where the loss is {:.4g}; the least is {:.4g}. Below, the "
      "line among its points, and the loss by step.",
      descent->steps(), descent->ranks.front().start.slope, descent->ranks.front().start.intercept, end.slope,
      end.intercept, bowl.loss(end), bowl.least_loss());
  return {{"The path of this run over the loss", run.note, alt,
           [descent](Sketch& sketch, PlotPoint at, float width) {
             return paint_descent(sketch, *descent, at, width);
           }}};
}

}  // namespace isobar
