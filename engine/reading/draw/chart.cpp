#include "draw/chart.h"

#include <algorithm>

namespace isobar {
namespace {

float widest_mark(Sketch& sketch, const std::vector<Tick>& marks) {
  float out = 0;
  for (const Tick& tick : marks) out = std::max(out, sketch.text_width(tick.label));
  return out;
}

void paint_chart_x(Sketch& sketch, const ChartArea& area, const std::string& title) {
  const Theme& theme = sketch.theme();
  float free_from = area.box.x0 - sketch.px(20);
  for (const Tick& tick : ticks(area.x, sketch.px(70))) {
    const float x = area.x.pixel(tick.value), half = sketch.text_width(tick.label) / 2;
    sketch.line({x, area.box.y0}, {x, area.box.y1}, with_alpha(theme.line, tick.label.empty() ? 0.3F : 1));
    if (tick.label.empty() || x - half < free_from || x + half > area.box.x1 + sketch.px(14)) continue;
    sketch.canvas().text(x, area.box.y1 + sketch.px(6), tick.label, Face::small, theme.dim, 0.5F);
    free_from = x + half + sketch.px(8);
  }
  const float y = area.box.y1 + sketch.px(24);
  sketch.words({area.box.x0, y}, area.box.width(), title, {.colour = theme.dim, .across = 1});
}

}  // namespace

ChartArea paint_chart(Sketch& sketch, const ChartSpec& spec, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  if (!spec.y_title.empty())
    at.y = sketch.words(at, width, spec.y_title, {.colour = theme.dim}) + sketch.px(8);
  ChartArea out{spec.x, spec.y, {at.x, at.y, at.x + width - sketch.px(12), at.y + sketch.px(spec.height)}, 0};
  out.y.begin = out.box.y1;
  out.y.end = out.box.y0;
  const std::vector<Tick> marks = spec.y_marks ? ticks(out.y, sketch.px(34)) : std::vector<Tick>{};
  out.box.x0 += spec.left > 0 ? spec.left : widest_mark(sketch, marks) + sketch.px(8);
  out.x.begin = out.box.x0;
  out.x.end = out.box.x1;
  paint_chart_x(sketch, out, spec.x_title);
  const float half = sketch.canvas().line_height(Face::small) / 2;
  for (const Tick& tick : marks) {
    const float y = out.y.pixel(tick.value);
    sketch.line({out.box.x0, y}, {out.box.x1, y}, with_alpha(theme.line, tick.label.empty() ? 0.4F : 1));
    if (!tick.label.empty())
      sketch.canvas().text(out.box.x0 - sketch.px(6), y - half, tick.label, Face::small, theme.dim, 1);
  }
  sketch.line({out.box.x0, out.box.y1}, {out.box.x1, out.box.y1}, theme.dim);
  sketch.line({out.box.x0, out.box.y0}, {out.box.x0, out.box.y1}, theme.dim);
  out.end = out.box.y1 + sketch.px(24) + sketch.words_height(spec.x_title, Face::small, out.box.width());
  return out;
}

}  // namespace isobar
