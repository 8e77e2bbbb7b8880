#include "draw/gantt.h"

#include <algorithm>
#include <array>

#include "draw/axis.h"

namespace isobar {
namespace {

constexpr float kGanttRow = 30, kGanttBar = 24, kGanttLabel = 17, kGanttMostLabels = 130, kGanttNarrow = 620;

struct GanttPlaces {
  Axis x;
  float labels = 0;  ///< width of the column of labels; 0 = they stand above their rows
  float row = 0;     ///< from one row to the next
};

GanttPlaces gantt_places(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width) {
  GanttPlaces out;
  if (width >= sketch.px(kGanttNarrow)) {
    for (const GanttRow& row : gantt.rows) out.labels = std::max(out.labels, sketch.text_width(row.label));
    out.labels = std::min(out.labels, sketch.px(kGanttMostLabels)) + sketch.px(12);
  }
  out.row = sketch.px(out.labels > 0 ? kGanttRow : kGanttRow + kGanttLabel);
  out.x.least = gantt.begin;
  out.x.most = gantt.end > gantt.begin ? gantt.end : gantt.begin + 1;
  out.x.begin = at.x + out.labels;
  out.x.end = at.x + width - sketch.px(2);
  return out;
}

void paint_gantt_row(Sketch& sketch, const GanttRow& row, const GanttPlaces& places, PlotPoint at) {
  float y = at.y;
  if (places.labels > 0) {
    const std::string label = sketch.canvas().fitted(row.label, Face::small, places.labels - sketch.px(8));
    sketch.canvas().text(at.x, y + sketch.px(5), label, Face::small, sketch.theme().text);
  } else {
    const std::string label = sketch.canvas().fitted(row.label, Face::small, places.x.end - at.x);
    sketch.canvas().text(at.x, y, label, Face::small, sketch.theme().dim);
    y += sketch.px(kGanttLabel);
  }
  const float bottom = y + sketch.px(kGanttBar);
  sketch.canvas().fill({places.x.begin, y, places.x.end, bottom}, sketch.theme().raised);
  for (const GanttSpan& span : row.spans) {
    const float x0 = places.x.pixel(std::max(span.begin, places.x.least));
    const float x1 = places.x.pixel(std::min(span.end, places.x.most));
    if (!(x1 > x0)) continue;
    const Box box = {x0, y, std::max(x1, x0 + sketch.px(1)), bottom};
    sketch.area(box, span.colour, span.hatch);
    const std::array<std::string, 1> words = {span.words};
    if (!span.words.empty()) sketch.words_in(box, words, ink_on(span.colour));
  }
}

void paint_gantt_axis(Sketch& sketch, const Gantt& gantt, const GanttPlaces& places, float top,
                      float bottom) {
  Canvas& canvas = sketch.canvas();
  const Theme& theme = sketch.theme();
  if (!gantt.has_ticks) {
    sketch.arrow({places.x.begin, bottom + sketch.px(4)}, {places.x.end, bottom + sketch.px(4)}, theme.dim,
                 1);
    canvas.text(places.x.end, bottom + sketch.px(10), gantt.axis, Face::small, theme.dim, 1);
    return;
  }
  sketch.line({places.x.begin, bottom}, {places.x.end, bottom}, theme.dim);
  const float title = sketch.text_width(gantt.axis);
  canvas.text(places.x.end, bottom + sketch.px(8), gantt.axis, Face::small, theme.dim, 1);
  for (const Tick& tick : ticks(places.x, sketch.px(90))) {
    const float x = places.x.pixel(tick.value);
    if (tick.label.empty() || x < places.x.begin - 1 || x > places.x.end + 1) continue;
    sketch.line({x, top}, {x, bottom + sketch.px(4)}, with_alpha(theme.dim, 0.35F));
    const float half = sketch.text_width(tick.label) / 2;
    const float left = std::max(x - half, places.x.begin);
    if (left + 2 * half + sketch.px(8) > places.x.end - title) continue;
    canvas.text(left, bottom + sketch.px(8), tick.label, Face::small, theme.dim);
  }
}

}  // namespace

float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width) {
  const GanttPlaces places = gantt_places(sketch, gantt, at, width);
  if (!gantt.marks.empty()) at.y += sketch.px(kGanttLabel);
  float y = at.y;
  const float bottom = at.y + places.row * static_cast<float>(gantt.rows.size());
  for (const GanttRow& row : gantt.rows) {
    paint_gantt_row(sketch, row, places, {at.x, y});
    y += places.row;
  }
  for (const GanttMark& mark : gantt.marks) {
    const float x = places.x.pixel(mark.at), half = sketch.text_width(mark.words) / 2;
    sketch.line({x, at.y}, {x, bottom}, sketch.theme().text, 1.5F, Dash::dashed);
    const float left = std::clamp(x - half, at.x, std::max(at.x, at.x + width - 2 * half));
    sketch.canvas().text(left, at.y - sketch.px(kGanttLabel), mark.words, Face::small, sketch.theme().text);
  }
  paint_gantt_axis(sketch, gantt, places, at.y, bottom);
  return bottom + sketch.px(28);
}

}  // namespace isobar
