#include "00_sgd/parts/path_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/chart.h"
#include "draw/text_canvas.h"

namespace isobar {
namespace {

constexpr int kBands = 12;
constexpr double kBand = 3;  // each contour stands for so many times the height of the next lower one

std::string short_number(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

/// Limits around all of these, with a margin and a width.
void take_in(Axis& axis, const std::vector<Line>& lines, double Line::*part) {
  const auto [least, most] = std::ranges::minmax_element(lines, {}, part);
  const double low = (*least).*part, high = (*most).*part;
  const double margin = std::max(0.12 * (high - low), 1e-3 * std::max(1.0, std::abs(high)));
  axis.least = low - margin;
  axis.most = high + margin;
}

float paint_path(Sketch& sketch, const LossBowl& bowl, const std::vector<Line>& path, PlotPoint at,
                 float width) {
  std::vector<Line> shown = path;
  shown.push_back(bowl.bottom());
  ChartSpec spec;
  take_in(spec.x, shown, &Line::slope);
  take_in(spec.y, shown, &Line::intercept);
  spec.x_title = "slope";
  spec.y_title = "intercept";
  spec.height = 19 * TextCanvas::kCellHigh;
  const ChartArea area = paint_chart(sketch, spec, at, width);
  const auto places_of = [&](const std::vector<Line>& lines) {
    std::vector<PlotPoint> out;
    for (const Line& line : lines) out.push_back(area.at(line.slope, line.intercept));
    return out;
  };
  Canvas& canvas = sketch.canvas();
  canvas.push_clip(area.box);
  double height = std::max(bowl.loss({spec.x.least, spec.y.least}), bowl.loss({spec.x.most, spec.y.most})) -
                  bowl.least_loss();
  for (int band = 0; band < kBands; ++band, height /= kBand) {
    std::vector<Line> ellipse = bowl.contour(height, 240);
    ellipse.push_back(ellipse.front());
    canvas.line(places_of(ellipse), mixed(sketch.theme().panel, sketch.theme().dim, 0.35F), 1, Dash::solid);
  }
  const std::vector<PlotPoint> places = places_of(path);
  canvas.line(places, sketch.theme().text, 2, Dash::solid);
  for (const PlotPoint& place : places) canvas.mark(place, Mark::circle, 4, sketch.theme().text);
  if (!places.empty()) canvas.mark(places.front(), Mark::ring, 5, sketch.theme().text);
  canvas.mark(area.at(bowl.bottom().slope, bowl.bottom().intercept), Mark::cross, 5, sketch.theme().text);
  canvas.pop_clip();
  return area.end;
}

}  // namespace

std::vector<std::string> path_plot(const LinePoints& points, const std::vector<Line>& path, TextStyle style) {
  constexpr double kFar = 1e12;  // a path that leaves is drawn up to there
  std::vector<Line> drawn;
  for (const Line& line : path) {
    if (!(std::abs(line.slope) < kFar && std::abs(line.intercept) < kFar)) break;
    drawn.push_back(line);
  }
  style.colours = TextStyle::Colours::none;  // console.log keeps these lines
  style.columns = std::clamp<std::size_t>(style.columns, 40, 80);
  const LossBowl bowl(points);
  std::vector<std::string> out;
  if (style.glyphs != TextStyle::Glyphs::words) {
    const Drawing drawing = {"", "", "", [&](Sketch& sketch, PlotPoint at, float width) {
                               return paint_path(sketch, bowl, drawn, at, width);
                             }};
    out = drawing_lines(drawing, style);
    const bool ascii = style.glyphs == TextStyle::Glyphs::ascii;
    out.push_back(fmt::format("{} start, {} after each step, {} least loss ({:.4g})", ascii ? "O" : "○",
                              ascii ? "o" : "●", ascii ? "x" : "×", bowl.least_loss()));
    out.push_back(fmt::format("lines of equal loss, each {:g} times as high as the next lower one", kBand));
  }
  const Line& end = path.back();
  out.push_back(fmt::format("after {} steps: slope {}, intercept {}, loss over all points {:.6g}",
                            path.size() - 1, short_number(end.slope), short_number(end.intercept),
                            bowl.loss(end)));
  if (drawn.size() < path.size()) out.push_back("the path leaves: the learning rate is too large");
  return out;
}

}  // namespace isobar
