#pragma once
// The plane of lesson 00: the loss as filled contours over slope and intercept, and what walks in it.
#include <string>
#include <vector>

#include "00_sgd/view/descent.h"
#include "draw/chart.h"
#include "samples/line.h"

namespace isobar::lesson_00 {

struct ScenePath {
  std::string label;  ///< in the legend; "" = it has no entry
  std::vector<Line> path;
  Colour colour = 0;
  Mark mark = Mark::circle;
  Dash dash = Dash::solid;
};

struct SceneArrow {
  Line from, to;
  Colour colour = 0;
  float width = 1.5F;
  std::string label = {};  ///< at its end
};

struct DescentScene {
  LossBowl bowl;
  std::vector<ScenePath> paths = {};
  std::vector<SceneArrow> arrows = {};
  Line low = {}, high = {};  ///< what is shown
};

/// Of each rank its start and its first `steps` steps, one colour and mark a rank; a single one where all
/// ranks walk the same path.
std::vector<ScenePath> rank_paths(const Descent& descent, std::size_t steps, const Theme& theme);

/// Shows all paths and arrows, the bottom where `with_bottom`, and a margin.
void fit_scene(DescentScene& scene, bool with_bottom = true);

/// Places for `at` in a chart of `scene`, `height` pixels at scale 1. Contours are filled darker (lighter in
/// the dark theme) the higher they are; the bottom is a cross. Paths that leave what is shown are cut.
ChartArea paint_scene(Sketch& sketch, const DescentScene& scene, PlotPoint at, float width, float height);

/// A legend of the paths and of the cross.
float paint_scene_legend(Sketch& sketch, const DescentScene& scene, PlotPoint at, float width);

/// Points and lines through them: what a fit is.
struct FitLine {
  Line line;
  Colour colour = 0;
  Dash dash = Dash::solid;
};
ChartArea paint_fit(Sketch& sketch, const LinePoints& points, const std::vector<FitLine>& lines,
                    const std::vector<std::int64_t>& batch, PlotPoint at, float width, float height);

}  // namespace isobar::lesson_00
