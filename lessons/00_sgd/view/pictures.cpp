// Pictures: paths of three batch sizes and the arrows of four ranks, drawn from the walk itself with the
// lesson's own settings; and the path of a run, its line among the points, and its loss.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "00_sgd/view/descent.h"
#include "00_sgd/view/plane.h"
#include "config/load.h"
#include "core/files.h"
#include "core/text.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_00 {
namespace {

Config lesson_config(const std::vector<std::string>& sets) {
  return load_config(project_home(), read_lesson(project_home(), "00_sgd"), {.sets = sets}, "cpu").config;
}

constexpr std::int64_t kSteps = 60;

float paint_batch_paths(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  DescentScene scene{LossBowl(draw_points(lesson_config({}).data))};
  struct Shown {
    const char* batch;
    const char* label;
    std::size_t series;
    Mark mark;
  };
  for (const Shown& one : {Shown{"1", "1 sample a step", 1, Mark::triangle},
                           {"100", "100 samples", 6, Mark::circle},
                           {"1000", "all 1000", 2, Mark::square}}) {
    const Descent descent =
        walk_descent(lesson_config({std::string("train.global_batch=") + one.batch}), kSteps);
    scene.paths.push_back({one.label, descent.ranks.front().path(), theme.series[one.series], one.mark});
  }
  fit_scene(scene);
  at.y = paint_scene_legend(sketch, scene, at, width);
  return paint_scene(sketch, scene, at, width, 330).end;
}

float paint_rank_arrows(Sketch& sketch, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const Config config = lesson_config({"run.ranks=4", "train.global_batch=16"});
  DescentWalk walk(config);
  walk.step();
  const Descent& descent = walk.so_far();
  DescentScene scene{LossBowl(descent.points)};
  const Line& start = descent.ranks.front().start;
  const double lr = config.optim.lr;
  for (std::size_t rank = 0; rank < descent.ranks.size(); ++rank) {
    const Line& own = descent.ranks[rank].steps.front().own;
    scene.arrows.push_back({start,
                            {start.slope - lr * own.slope, start.intercept - lr * own.intercept},
                            theme.series[rank],
                            1.5F,
                            fmt::format("rank {}", rank)});
  }
  scene.arrows.push_back({start, descent.ranks.front().steps.front().line, theme.text, 3, "mean: the step"});
  fit_scene(scene, /*with_bottom=*/false);
  const double room = 0.3 * (scene.high.slope - scene.low.slope);  // for the labels
  scene.low.slope -= room;
  scene.high.slope += room;
  at.y = sketch.words(at, width,
                      "One step of four ranks with 4 samples each: every rank would go another way. All of "
                      "them go the mean of the four.") +
         sketch.px(6);
  return paint_scene(sketch, scene, at, width, 300).end;
}

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

/// The paths of several runs in one plane; of a run whose ranks part, those of its ranks.
Drawing paths_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (is_one_of(rule, {"step_overhead", "curve"})) return {};  // times, and losses
  struct Shown {
    std::string label;
    Descent descent;
  };
  const auto shown = std::make_shared<std::vector<Shown>>();
  std::string alt = "Paths over the contours of the loss.";
  for (const ShownRun& one : runs) {
    shown->push_back({one.label, read_descent(one.run->folder, project_home())});
    const std::vector<Line> path = shown->back().descent.ranks.front().path();
    alt += fmt::format(
        " {}: {} steps that turn by {:.0f} degrees on average, to slope {:.3g}, intercept {:.3g}.", one.label,
        path.size() - 1, mean_turn(path), path.back().slope, path.back().intercept);
  }
  return {"The paths of your runs over the loss", "", alt,
          [shown](Sketch& sketch, PlotPoint at, float width) {
            static constexpr std::array<Mark, 4> kMarks = {Mark::triangle, Mark::circle, Mark::square,
                                                           Mark::diamond};
            static constexpr std::array<std::size_t, 6> kSeries = {1, 6, 2, 4, 3, 0};
            DescentScene scene{LossBowl(shown->front().descent.points)};
            for (const Shown& one : *shown) {
              for (ScenePath& path : rank_paths(one.descent, one.descent.steps(), sketch.theme())) {
                const bool is_rank = path.label.starts_with("rank");
                path.label = one.label + (is_rank ? ", " + path.label : "");
                path.colour = sketch.theme().series[kSeries[scene.paths.size() % kSeries.size()]];
                path.mark = kMarks[scene.paths.size() % kMarks.size()];
                scene.paths.push_back(std::move(path));
              }
            }
            fit_scene(scene);
            at.y = paint_scene_legend(sketch, scene, at, width);
            return paint_scene(sketch, scene, at, width, 330).end;
          }};
}

/// The first steps by each of these settings, in the same part of the plane.
std::vector<Drawing> path_panels(const std::vector<PanelSettings>& choices) {
  const auto scenes = std::make_shared<std::vector<DescentScene>>();
  DescentScene all{LossBowl(draw_points(lesson_config({}).data))};
  std::vector<Drawing> out;
  for (const PanelSettings& sets : choices) {
    const Descent descent = walk_descent(lesson_config(sets), kSteps);
    DescentScene& scene = scenes->emplace_back(DescentScene{LossBowl(descent.points)});
    scene.paths = rank_paths(descent, descent.steps(), theme_of(true));
    for (ScenePath& path : scene.paths) path.mark = Mark::none;  // they would hide how it turns
    all.paths.insert(all.paths.end(), scene.paths.begin(), scene.paths.end());
    const std::size_t at = out.size();
    const std::string alt =
        fmt::format("a path of {} steps that turns by {:.0f} degrees from step to step on average", kSteps,
                    mean_turn(scene.paths.front().path));
    out.push_back({"", "", alt, [scenes, at](Sketch& sketch, PlotPoint place, float width) {
                     DescentScene own = (*scenes)[at];
                     for (std::size_t i = 0; i < own.paths.size(); ++i)
                       own.paths[i].colour = sketch.theme().series[i];
                     return paint_scene(sketch, own, place, width, 150).end;
                   }});
  }
  fit_scene(all);
  for (DescentScene& scene : *scenes) {
    scene.low = all.low;
    scene.high = all.high;
  }
  return out;
}

std::vector<LessonPicture> pictures() {
  return {{"idea",
           {"The way down, with 1, 100 and 1000 samples a step",
            "the first 60 steps of the lesson, worked out with its own points",
            "Contours of the loss over slope and intercept form a long, narrow valley with a cross at its "
            "lowest point. The path of all 1000 samples is a smooth curve into the valley and along it. That "
            "of 100 samples wobbles around it. That of 1 sample jumps across the valley again and again.",
            paint_batch_paths}},
          {"ranks",
           {"Four gradients, one step", "the first step of the lesson, worked out with its own points",
            "Four thin arrows, one a rank, leave the same point over the contours of the loss in different "
            "directions and lengths. A thick arrow, their mean, is the step that all four ranks take.",
            paint_rank_arrows}}};
}

const AddLessonView kView{{"00_sgd", pictures, own_descent, {}, paths_together, path_panels}};

}  // namespace
}  // namespace isobar::lesson_00
