#include "draw/curve_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "draw/plot.h"
#include "draw/svg_canvas.h"

namespace isobar {

std::string draw_curve(const RunReader& reader) {
  const RunView& view = reader.view();
  if (view.scores.size() < 2) {
    throw Error("the run has fewer than two scores to draw", reader.folder().string(),
                "wait for its first epoch");
  }
  const Theme& theme = theme_of(false);
  const RunScores& last = view.scores.back();
  const auto with_value = [](const char* name, double value) {
    return fmt::format("{} {:.3f}", name, value);
  };
  std::vector<std::pair<double, double>> points;
  for (const RunScores& at : view.scores) points.emplace_back(at.step, at.rmse);
  PlotSpec spec;
  spec.title = fmt::format("{}, {}: validation RMSE of {} by step", view.lesson, view.preset, last.headline);
  spec.subtitle =
      "in standard deviations; lower is better; on " + view.device + ", " + view.started.substr(0, 10);
  spec.x_title = "step";
  spec.x_is_whole = spec.from_zero = true;
  spec.legend = false;
  spec.lines = {line_of("forecast", theme.accent, points)};
  spec.lines[0].end_words = with_value("forecast", last.rmse);
  const auto add_level = [&](const char* name, double value, Dash dash) {
    if (value > 0) spec.levels.push_back({name, value, theme.dim, dash, with_value(name, value)});
  };
  add_level("persistence", last.persistence_rmse, Dash::dashed);
  add_level("climatology", last.climatology_rmse, Dash::dotted);
  PlotLink link;
  link.x_most = std::max(1.0, static_cast<double>(last.step));
  SvgCanvas canvas(720, 380, theme.panel);
  Smoother smoother;
  paint_whole(canvas, theme, spec, {}, link, {0, 0, 720, 380}, smoother);
  return canvas.text();
}

}  // namespace isobar
