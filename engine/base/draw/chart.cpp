#include "draw/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isobar {
namespace {

float widest_mark(Sketch& sketch, const std::vector<Tick>& marks) {
  float out = 0;
  for (const Tick& tick : marks) out = std::max(out, sketch.text_width(tick.label));
  return out;
}

void paint_chart_x(Sketch& sketch, const ChartArea& area, const ChartSpec& spec) {
  const Theme& theme = sketch.theme();
  float free_from = area.box.x0 - sketch.px(20);
  std::vector<Tick> marks;
  for (const double value : spec.x_marks) marks.push_back({value, engineering(value)});
  if (marks.empty()) marks = ticks(area.x, sketch.px(70));
  for (const Tick& tick : marks) {
    const float x = area.x.pixel(tick.value), half = sketch.text_width(tick.label) / 2;
    sketch.line({x, area.box.y0}, {x, area.box.y1}, with_alpha(theme.line, tick.label.empty() ? 0.3F : 1));
    if (tick.label.empty() || x - half < free_from || x + half > area.box.x1 + sketch.px(14)) continue;
    sketch.canvas().text(x, area.box.y1 + sketch.px(6), tick.label, Face::small, theme.dim, 0.5F);
    free_from = x + half + sketch.px(8);
  }
  const float y = area.box.y1 + sketch.px(24);
  sketch.words({area.box.x0, y}, area.box.width(), spec.x_title, {.colour = theme.dim, .across = 1});
}

std::vector<Tick> x_ticks(const XMarks& marks, const Axis& x, float scale) {
  std::vector<Tick> out;
  for (const double value : marks.at) out.push_back({value, engineering(value)});
  if (!out.empty()) return out;
  out = ticks(x, (marks.is_time ? 80 : 62) * scale);
  for (Tick& tick : out) {
    if (marks.is_time && !tick.label.empty()) tick.label = tick.value == 0 ? "0" : clock_text(tick.value);
  }
  return out;
}

Colour mark_colour(const Theme& theme, const Tick& tick) {
  return mixed(theme.panel, theme.line, tick.label.empty() ? 0.3F : 0.75F);
}

/// Where the axis ends, so that nobody has to guess how far it goes.
Tick end_of(const XMarks& marks, const Axis& x) {
  const double value = x.whole ? std::floor(x.most) : x.most;
  return {value, marks.is_time ? clock_text(value) : engineering(value)};
}

}  // namespace

ChartArea paint_chart_lines(Sketch& sketch, const ChartSpec& spec, const std::vector<ChartLine>& lines,
                            PlotPoint at, float width) {
  struct Look {
    std::size_t series;
    Mark mark;
    Dash dash;
  };
  static constexpr std::array<Look, 4> kLooks = {{{6, Mark::circle, Dash::solid},
                                                  {4, Mark::square, Dash::dashed},
                                                  {2, Mark::triangle, Dash::dotted},
                                                  {0, Mark::diamond, Dash::solid}}};
  ChartArea area = paint_chart(sketch, spec, at, width);
  PlotPoint entry = {at.x, area.end + sketch.px(8)};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ChartLine& line = lines[i];
    const Look& look = kLooks[i % kLooks.size()];
    const Colour colour = sketch.theme().series[look.series];
    std::vector<PlotPoint> places;
    for (const ChartPoint& point : line.points) {
      places.push_back(area.at(point.x, point.y));
      if (point.most > point.least)
        sketch.line(area.at(point.x, point.least), area.at(point.x, point.most), colour, 1.5F);
    }
    sketch.canvas().line(places, colour, sketch.px(line.width), look.dash);
    for (const PlotPoint& place : places) {
      if (line.marks) sketch.mark(place, look.mark, colour, line.width + 2);
    }
    if (line.words.empty()) continue;
    const float middle = entry.y + sketch.px(8), words_x = entry.x + sketch.px(40);
    sketch.line({entry.x, middle}, {entry.x + sketch.px(30), middle}, colour, 2, look.dash);
    if (line.marks) sketch.mark({entry.x + sketch.px(15), middle}, look.mark, colour, 4);
    entry.y = sketch.words({words_x, entry.y}, at.x + width - words_x, line.words) + sketch.px(3);
    area.end = entry.y;
  }
  return area;
}

void paint_number(Sketch& sketch, PlotPoint middle, std::size_t number) {
  sketch.canvas().circle(middle, sketch.px(9), sketch.theme().accent, true);
  sketch.canvas().text(middle.x, middle.y - sketch.px(7), std::to_string(number), Face::small,
                       sketch.theme().on_accent, 0.5F);
}

void paint_axis_below(Sketch& sketch, const Axis& x, const std::string& title, float top, float bottom) {
  const Theme& theme = sketch.theme();
  const float y = bottom + sketch.px(8), room = x.end - sketch.text_width(title) - sketch.px(8);
  sketch.line({x.begin, bottom}, {x.end, bottom}, theme.dim);
  sketch.canvas().text(x.end, y, title, Face::small, theme.dim, 1);
  for (const Tick& tick : ticks(x, sketch.px(80))) {
    const float at = x.pixel(tick.value), wide = sketch.text_width(tick.label);
    if (tick.label.empty() || at < x.begin - 1 || at > x.end + 1) continue;
    const bool is_edge = at < x.begin + sketch.px(1);
    sketch.line({at, is_edge ? bottom : top}, {at, bottom + sketch.px(4)}, with_alpha(theme.dim, 0.35F));
    const float left = std::max(at - wide / 2, x.begin);
    if (left + wide <= room) sketch.canvas().text(left, y, tick.label, Face::small, theme.dim);
  }
}

ChartArea paint_chart(Sketch& sketch, const ChartSpec& spec, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  if (!spec.y_title.empty())
    at.y = sketch.words(at, width, spec.y_title, {.colour = theme.dim}) + sketch.px(8);
  ChartArea out{spec.x, spec.y, {at.x, at.y, at.x + width - sketch.px(12), at.y}, 0};
  out.box.y1 += sketch.canvas().height_of(sketch.px(spec.height));
  out.y.begin = out.box.y1;
  out.y.end = out.box.y0;
  const std::vector<Tick> marks = ticks(out.y, sketch.px(34));
  out.box.x0 += spec.left > 0 ? spec.left : widest_mark(sketch, marks) + sketch.px(8);
  out.x.begin = out.box.x0;
  out.x.end = out.box.x1;
  paint_chart_x(sketch, out, spec);
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

void paint_y_marks(Canvas& canvas, const Theme& theme, const std::vector<Tick>& marks, const Axis& y,
                   const Box& area) {
  const float s = canvas.scale(), half = canvas.line_height(Face::small) / 2;
  for (const Tick& tick : marks) {
    const float at = std::round(y.pixel(tick.value));
    canvas.fill({area.x0, at, area.x1, at + 1}, mark_colour(theme, tick));
    canvas.text(area.x0 - 8 * s, at - half, tick.label, Face::small, theme.dim, 1);
  }
}

void paint_empty(Canvas& canvas, const Theme& theme, const std::string& words, const Box& area) {
  paint_fitted(canvas, (area.x0 + area.x1) / 2, (area.y0 + area.y1) / 2 - 8 * canvas.scale(), area.width(),
               words, Face::small, theme.dim, 0.5F);
}

void paint_x_marks(Canvas& canvas, const Theme& theme, const XMarks& marks, const Axis& x, const Box& area) {
  const float s = canvas.scale();
  const auto half_of = [&](const std::string& label) { return canvas.text_width(label, Face::small) / 2; };
  const auto label = [&](float at, const std::string& words) {
    canvas.text(at, area.y1 + 5 * s, words, Face::small, theme.dim, 0.5F);
  };
  float room = area.x1 + 20 * s;  // for labels of round numbers
  if (marks.at.empty() && x.most > x.least) {
    const Tick end = end_of(marks, x);
    const float half = half_of(end.label);
    const float at = std::min(std::round(x.pixel(end.value)), area.x1 + 12 * s - half);
    label(at, end.label);
    room = at - half - 10 * s;
  }
  float right_of_last = -1e9F;
  for (const Tick& tick : x_ticks(marks, x, s)) {
    const float at = std::round(x.pixel(tick.value));
    if (at < area.x0 - 1 || at > area.x1 + 1) continue;
    canvas.fill({at, area.y0, at + 1, area.y1}, mark_colour(theme, tick));
    const float half = half_of(tick.label);
    if (tick.label.empty() || at - half < right_of_last + 10 * s || at + half > room) continue;
    label(at, tick.label);
    right_of_last = at + half;
  }
  canvas.text(area.x1, area.y1 + 21 * s, marks.title, Face::small, theme.dim, 1);
}

}  // namespace isobar
