#include "plot/scaling_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "draw/svg_canvas.h"
#include "plot/plot.h"

namespace isobar {
namespace {

constexpr float kPageWidth = 960, kLeft = 12, kPanelsTop = 86, kPanelsBottom = 400, kLineHeight = 17;
constexpr std::size_t kColumns = 150;

/// What one panel draws of a point; NaN = a gap.
struct PointValue {
  double middle = NAN;
  Limits reach = {NAN, NAN};
};

PointValue rate_of(const ScalingFigures& point) {
  const Spread& rate = point.samples_per_s;
  if (point.is_gap()) return {};
  return {rate.median(), {rate.least(), rate.most()}};
}

PointValue percent_of(const ScalingFigures& point) {
  if (point.is_gap() || !point.efficiency) return {};
  return {100 * point.efficiency->value, {100 * point.efficiency->least, 100 * point.efficiency->most}};
}

struct Measure {
  PointValue (*value_of)(const ScalingFigures&);
  double (*simulated)(const SimulatedPoint&);
  std::string (*words)(double);
  std::optional<double> of_ideal;  ///< the same for all ranks; without it, the ideal rate
};

const Measure kRate = {rate_of,
                       [](const SimulatedPoint& at) { return at.samples_per_s; },
                       [](double value) { return fmt::format("{:.4g}", value); },
                       {}};
const Measure kPercent = {percent_of, [](const SimulatedPoint& at) { return 100 * at.efficiency; },
                          [](double value) { return fmt::format("{:.1f} %", value); }, 100.0};

PlotLine line_over(const Scaling& scaling, ScalingLine which, const Measure& measure) {
  struct Look {
    const char* label;
    std::size_t series;
    Mark mark;
  };
  static constexpr std::array<Look, kScalingLines.size()> kLooks = {
      {{"real", 6, Mark::circle},
       {"synthetic: nothing is read", 4, Mark::square},
       {"no-comm: gradients are not averaged either", 2, Mark::triangle}}};
  const Look& look = kLooks[static_cast<std::size_t>(which)];
  std::vector<std::pair<double, double>> points;
  std::vector<Limits> reach;
  for (const std::int64_t ranks : scaling.ranks()) {
    const ScalingFigures* const point = scaling.find(which, ranks);
    const PointValue value = point == nullptr ? PointValue{} : measure.value_of(*point);
    points.emplace_back(ranks, value.middle);
    reach.push_back(value.reach);
  }
  PlotLine out = line_of(look.label, theme_of(false).series[look.series], points);
  out.mark = look.mark;
  out.reach = reach;
  out.aside = (static_cast<float>(which) - 1) * 9;
  out.end_words = measure.words(points.back().second);
  return out;
}

/// Measured and simulated ones, ascending.
std::vector<std::int64_t> all_ranks(const Scaling& scaling, const SimulatedScaling& simulated) {
  std::vector<std::int64_t> out = scaling.ranks();
  for (const SimulatedPoint& point : simulated.points)
    if (point.ranks > out.back()) out.push_back(point.ranks);
  return out;
}

/// A processor for each rank, from the base on; a line of its own look.
PlotLine simulated_line(const SimulatedScaling& simulated, const Measure& measure) {
  std::vector<std::pair<double, double>> points;
  for (const SimulatedPoint& point : simulated.points)
    if (!point.shares_processors) points.emplace_back(point.ranks, measure.simulated(point));
  PlotLine out = line_of("simulated, not measured", theme_of(false).series[3], points);
  out.mark = Mark::ring;
  out.dash = Dash::dotted;
  out.end_words = measure.words(points.back().second);
  return out;
}

PlotSpec panel_of(const Scaling& scaling, const SimulatedScaling& simulated, const std::string& title,
                  const Measure& measure) {
  PlotSpec spec;
  spec.title = title;
  spec.x_title = "ranks (logarithmic)";
  spec.legend = false;
  std::vector<std::pair<double, double>> ideal;
  for (const std::int64_t ranks : all_ranks(scaling, simulated)) {
    spec.x_marks.push_back(static_cast<double>(ranks));
    const std::optional<double> value = measure.of_ideal ? measure.of_ideal : scaling.ideal_rate(ranks);
    if (value) ideal.emplace_back(ranks, *value);
  }
  spec.lines.push_back(line_of("ideal", theme_of(false).dim, ideal));
  spec.lines.back().dash = Dash::dashed;
  spec.lines.back().mark = Mark::none;
  for (const ScalingLine line : scaling.lines()) spec.lines.push_back(line_over(scaling, line, measure));
  if (!simulated.empty()) spec.lines.push_back(simulated_line(simulated, measure));
  return spec;
}

void draw_legend(Canvas& canvas, const Theme& theme, const Scaling& scaling, const PlotSpec& spec) {
  PlotLayout at;
  at.legend = {kLeft, 58, kPageWidth - kLeft, 58};
  paint_legend(canvas, theme, spec, {}, at);
  const auto lacks = [](const ScalingFigures& point) { return point.is_gap() || !point.efficiency; };
  if (std::ranges::none_of(scaling.points, lacks)) return;
  const float x = legend_boxes(spec, at, canvas).back().second.x1 + 18;
  canvas.mark({x, 67}, Mark::cross, 4, theme.dim);
  canvas.text(x + 10, 60, "no value", Face::small, theme.text);
}

}  // namespace

std::string draw_scaling(const Scaling& scaling, const SimulatedScaling& simulated,
                         const ScalingCaption& caption) {
  if (std::ranges::all_of(scaling.points, &ScalingFigures::is_gap))
    throw Error("no point has a value to draw", caption.title, "", Exit::failed);
  std::vector<std::string> protocol;
  for (const std::string& sentence : caption.protocol) {
    for (const std::string& line : wrapped(sentence, kColumns)) protocol.push_back(line);
  }
  const Theme& theme = theme_of(false);
  SvgCanvas canvas(kPageWidth, kPanelsBottom + 20 + kLineHeight * static_cast<float>(protocol.size()),
                   theme.panel);
  canvas.text(kLeft, 10, caption.title, Face::title, theme.text);
  canvas.text(kLeft, 36, caption.subtitle, Face::text, theme.dim);
  const std::vector<std::int64_t> ranks = all_ranks(scaling, simulated);
  PlotLink link;
  link.log_x = true;
  const double room =
      std::pow(std::max(2.0, static_cast<double>(ranks.back()) / static_cast<double>(ranks.front())), 0.08);
  link.x = {static_cast<double>(ranks.front()) / room, static_cast<double>(ranks.back()) * room};
  PlotSpec rates = panel_of(scaling, simulated, "samples/s of all ranks (logarithmic)", kRate);
  draw_legend(canvas, theme, scaling, rates);
  const float middle = kPageWidth / 2;
  paint_whole(canvas, theme, rates, {.log_y = true}, link, {0, kPanelsTop, middle, kPanelsBottom});
  PlotSpec efficiency =
      panel_of(scaling, simulated, "efficiency in % of " + counted(scaling.base_ranks, "rank"), kPercent);
  efficiency.from_zero = true;
  paint_whole(canvas, theme, efficiency, {}, link, {middle, kPanelsTop, kPageWidth, kPanelsBottom});
  for (float y = kPanelsBottom + 8; const std::string& line : protocol) {
    canvas.text(kLeft, y, line, Face::small, theme.dim);
    y += kLineHeight;
  }
  return canvas.text();
}

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
  link.x.most = std::max(1.0, static_cast<double>(last.step));
  SvgCanvas canvas(720, 380, theme.panel);
  paint_whole(canvas, theme, spec, {}, link, {0, 0, 720, 380});
  return canvas.text();
}

}  // namespace isobar
