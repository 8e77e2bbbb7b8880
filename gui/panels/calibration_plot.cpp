#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"

namespace isobar {
namespace {

constexpr std::size_t kLeastPoints = 3;
constexpr float kLeastDecades = 1;

/// The same decades on both axes: a right guess lies on the diagonal.
struct Decades {
  double least = 0, most = 1;  ///< logarithms to the base of ten

  explicit Decades(const Calibration& calibration) {
    bool any = false;
    const auto see = [&](double value) {
      const double at = std::log10(value);
      least = any ? std::min(least, at) : at;
      most = any ? std::max(most, at) : at;
      any = true;
    };
    for (const auto* const points : {&calibration.you, &calibration.formulas}) {
      for (const CalibrationPoint& point : *points) {
        if (!(point.predicted > 0) || !(point.measured > 0)) continue;
        see(point.predicted);
        see(point.measured);
      }
    }
    least = std::floor(least);
    most = std::max(std::ceil(most), least + kLeastDecades);
  }
  float part(double value) const { return static_cast<float>((std::log10(value) - least) / (most - least)); }
};

PlotPoint place(const Box& area, const Decades& decades, const CalibrationPoint& point) {
  return {area.x0 + decades.part(point.measured) * area.width(),
          area.y1 - decades.part(point.predicted) * area.height()};
}

void paint_axes(Canvas& canvas, const Theme& theme, const Box& area, const Decades& decades) {
  const float s = canvas.scale();
  const int least = static_cast<int>(decades.least);
  const int most = static_cast<int>(decades.most);
  const int step = std::max(1, (most - least + 3) / 4);
  for (int decade = least; decade <= most; decade += step) {
    const float part = static_cast<float>((decade - decades.least) / (decades.most - decades.least));
    const float x = area.x0 + part * area.width();
    const float y = area.y1 - part * area.height();
    const PlotPoint across[2] = {{area.x0, y}, {area.x1, y}};
    const PlotPoint down[2] = {{x, area.y0}, {x, area.y1}};
    canvas.line(across, theme.line, s, Dash::solid);
    canvas.line(down, theme.line, s, Dash::solid);
    const std::string words = engineering(std::pow(10.0, decade), 3);
    canvas.text(area.x0 - 6 * s, y - canvas.line_height(Face::small) / 2, words, Face::small, theme.dim, 1);
    canvas.text(x, area.y1 + 4 * s, words, Face::small, theme.dim, 0.5F);
  }
  const PlotPoint right[2] = {{area.x0, area.y1}, {area.x1, area.y0}};
  canvas.line(right, theme.dim, 1.5F * s, Dash::solid);
}

void paint_points(Canvas& canvas, const Theme& theme, const Box& area, const Calibration& calibration) {
  const Decades decades(calibration);
  paint_axes(canvas, theme, area, decades);
  const float s = canvas.scale();
  const auto all = [&](const std::vector<CalibrationPoint>& points, Mark mark, Colour colour) {
    for (const CalibrationPoint& point : points) {
      if (point.predicted > 0 && point.measured > 0)
        canvas.mark(place(area, decades, point), mark, 4.5F * s, colour);
    }
  };
  all(calibration.formulas, Mark::ring, theme.series[1]);
  all(calibration.you, Mark::circle, theme.series[0]);
}

/// One entry of the legend; gives the x behind it.
float paint_entry(Canvas& canvas, const Theme& theme, PlotPoint at, Mark mark, Colour colour,
                  const std::string& words) {
  const float s = canvas.scale();
  canvas.mark({at.x + 5 * s, at.y + 9 * s}, mark, 4.5F * s, colour);
  canvas.text(at.x + 15 * s, at.y + 1 * s, words, Face::small, theme.text);
  return at.x + 15 * s + canvas.text_width(words, Face::small) + 16 * s;
}

}  // namespace

void draw_calibration(Ui& ui, const Data& data) {
  const Calibration& calibration = data.course->calibration;
  ui.gap(4);
  ui.text("How close your numbers are", Face::bold);
  if (calibration.you.size() < kLeastPoints) {
    ui.note(
        fmt::format("{} of {} numbers so far. From three on they are drawn here: what you said against "
                    "what was measured, beside the same of the formulas.",
                    calibration.you.size(), kLeastPoints));
    return;
  }
  ui.note(fmt::format(
      "Right on the first try: {} of {}. Your numbers are usually off by a factor of {:.2f}{}.",
      calibration.right, calibration.asked, calibration.typical_factor_you(),
      calibration.formulas.empty()
          ? std::string()
          : fmt::format(", those of the formulas by {:.2f}", calibration.typical_factor_formulas())));
  ImGuiCanvas canvas = ui.canvas();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x, ui.px(420));
  const float legend = ui.px(24);
  const Box box = {at.x, at.y, at.x + width, at.y + width * 0.72F + legend};
  const float x =
      paint_entry(canvas, ui.theme(), {box.x0, box.y0}, Mark::circle, ui.theme().series[0], "you");
  if (!calibration.formulas.empty())
    paint_entry(canvas, ui.theme(), {x, box.y0}, Mark::ring, ui.theme().series[1], "the formulas");
  canvas.text(box.x1, box.y0 + ui.px(1), "predicted against measured", Face::small, ui.theme().dim, 1);
  paint_points(canvas, ui.theme(),
               {box.x0 + ui.px(48), box.y0 + legend + ui.px(6), box.x1 - ui.px(20), box.y1 - ui.px(24)},
               calibration);
  ImGui::Dummy({box.width(), box.height()});
  ui.record("calibration", box);
}

}  // namespace isobar
