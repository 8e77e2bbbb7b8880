// Lesson 00: paths of three batch sizes, and the arrows of four ranks. Drawn from the walk itself, with the
// lesson's own settings.
#include "analyse/descent.h"

#include <fmt/format.h>

#include "config/load.h"
#include "core/files.h"
#include "draw/descent_scene.h"
#include "draw/pictures/pictures.h"

namespace isobar {
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

}  // namespace

std::vector<LessonPicture> descent_pictures() {
  return {{"00_sgd",
           "idea",
           {"The way down, with 1, 100 and 1000 samples a step",
            "the first 60 steps of the lesson, worked out with its own points",
            "Contours of the loss over slope and intercept form a long, narrow valley with a cross at its "
            "lowest point. The path of all 1000 samples is a smooth curve into the valley and along it. That "
            "of 100 samples wobbles around it. That of 1 sample jumps across the valley again and again.",
            paint_batch_paths}},
          {"00_sgd",
           "ranks",
           {"Four gradients, one step", "the first step of the lesson, worked out with its own points",
            "Four thin arrows, one a rank, leave the same point over the contours of the loss in different "
            "directions and lengths. A thick arrow, their mean, is the step that all four ranks take.",
            paint_rank_arrows}}};
}

}  // namespace isobar
