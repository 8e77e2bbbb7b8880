#include "draw/gantt.h"

#include <algorithm>
#include <array>

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
    out.labels = sketch.text_width(gantt.widest_label);
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

/// Gives where its bar begins and ends.
Box paint_gantt_ground(Sketch& sketch, const GanttRow& row, const GanttPlaces& places, PlotPoint at) {
  Canvas& canvas = sketch.canvas();
  float y = at.y;
  if (places.labels > 0) {
    const std::string label = canvas.fitted(row.label, Face::small, places.labels - sketch.px(8));
    canvas.text(at.x, y + sketch.px(5), label, Face::small, sketch.theme().text);
  } else {
    const std::string label = canvas.fitted(row.label, Face::small, places.x.end - at.x);
    canvas.text(at.x, y, label, Face::small, sketch.theme().dim);
    y += sketch.px(kGanttLabel);
  }
  const Box out = {places.x.begin, y, places.x.end, y + sketch.px(kGanttBar)};
  canvas.fill(out, sketch.theme().raised);
  return out;
}

/// On a ground without hatch, so that they can be read.
void paint_span_words(Sketch& sketch, const GanttSpan& span, const Box& box, const Box& row) {
  Canvas& canvas = sketch.canvas();
  const float wide = sketch.text_width(span.words), high = canvas.line_height(Face::small);
  const float y = (box.y0 + box.y1 - high) / 2;
  if (wide + sketch.px(6) <= box.width()) {
    const float middle = (box.x0 + box.x1) / 2, half = wide / 2 + sketch.px(2);
    if (span.hatch != Hatch::none)
      canvas.fill({middle - half, box.y0 + sketch.px(3), middle + half, box.y1 - sketch.px(3)}, span.colour);
    canvas.text(middle, y, span.words, Face::small, ink_on(span.colour), 0.5F);
  } else if (span.may_stand_beside && box.x1 + sketch.px(5) + wide <= row.x1) {
    canvas.text(box.x1 + sketch.px(5), y, span.words, Face::small, sketch.theme().text);
  } else if (span.may_stand_beside && box.x0 - sketch.px(5) - wide >= row.x0) {
    canvas.text(box.x0 - sketch.px(5), y, span.words, Face::small, sketch.theme().text, 1);
  }
}

void paint_spans(Sketch& sketch, const GanttRow& row, const GanttPlaces& places, const Box& bar) {
  for (const GanttSpan& span : row.spans) {
    const float x0 = places.x.pixel(std::max(span.begin, places.x.least));
    const float x1 = places.x.pixel(std::min(span.end, places.x.most));
    if (!(x1 > x0)) continue;
    const Box box = {x0, bar.y0, std::min(bar.x1, std::max(x1, x0 + sketch.px(1.5F))), bar.y1};
    sketch.area(box, span.colour, span.hatch);
    if (!span.words.empty()) paint_span_words(sketch, span, box, bar);
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
    const bool is_edge = x < places.x.begin + sketch.px(1);
    sketch.line({x, is_edge ? bottom : top}, {x, bottom + sketch.px(4)}, with_alpha(theme.dim, 0.35F));
    const float half = sketch.text_width(tick.label) / 2;
    const float left = std::max(x - half, places.x.begin);
    if (left + 2 * half + sketch.px(8) > places.x.end - title) continue;
    canvas.text(left, bottom + sketch.px(8), tick.label, Face::small, theme.dim);
  }
}

}  // namespace

GanttSpan stage_span(const Theme& theme, double begin, double end, std::string_view stage,
                     std::string words) {
  return {begin, end, std::move(words), stage_colour(theme, stage), stage_hatch(stage)};
}

LegendEntry stage_entry(const Theme& theme, std::string_view stage, std::string words) {
  return {words.empty() ? std::string(stage) : std::move(words), stage_colour(theme, stage),
          stage_hatch(stage)};
}

float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width, GanttArea* area) {
  const GanttPlaces places = gantt_places(sketch, gantt, at, width);
  if (!gantt.marks.empty()) at.y += sketch.px(kGanttLabel);
  const float bottom = at.y + places.row * static_cast<float>(gantt.rows.size());
  std::vector<Box> bars;
  for (std::size_t i = 0; i < gantt.rows.size(); ++i) {
    const float y = at.y + places.row * static_cast<float>(i);
    bars.push_back(paint_gantt_ground(sketch, gantt.rows[i], places, {at.x, y}));
  }
  paint_gantt_axis(sketch, gantt, places, at.y, bottom);
  for (std::size_t i = 0; i < gantt.rows.size(); ++i) paint_spans(sketch, gantt.rows[i], places, bars[i]);
  for (const GanttMark& mark : gantt.marks) {
    const float x = places.x.pixel(mark.at), half = sketch.text_width(mark.words) / 2;
    sketch.line({x, at.y}, {x, bottom}, sketch.theme().text, 1.5F, Dash::dashed);
    const float left = std::clamp(x - half, at.x, std::max(at.x, at.x + width - 2 * half));
    sketch.canvas().text(left, at.y - sketch.px(kGanttLabel), mark.words, Face::small, sketch.theme().text);
  }
  if (area != nullptr) *area = {places.x, std::move(bars)};
  return bottom + sketch.px(28);
}

}  // namespace isobar
