#include "plot/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/find.h"
#include "core/stage.h"
#include "core/text.h"
#include "draw/chart.h"

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
  out.row = sketch.canvas().height_of(sketch.px(out.labels > 0 ? kGanttRow : kGanttRow + kGanttLabel));
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
    const float high = canvas.line_height(Face::small);
    const float down =
        sketch.is_text() ? (sketch.px(kGanttBar) - high) / 2 : sketch.px(5);  // on the bar's line
    paint_fitted(canvas, at.x, y + down, places.labels - sketch.px(8), row.label, Face::small,
                 sketch.theme().text);
  } else {
    paint_fitted(canvas, at.x, y, places.x.end - at.x, row.label, Face::small, sketch.theme().dim);
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

void paint_gantt_axis(Sketch& sketch, const Gantt& gantt, const Axis& x, float top, float bottom) {
  if (gantt.has_ticks) return paint_axis_below(sketch, x, gantt.axis, top, bottom);
  const Colour dim = sketch.theme().dim;
  sketch.arrow({x.begin, bottom + sketch.px(4)}, {x.end, bottom + sketch.px(4)}, dim, 1);
  sketch.canvas().text(x.end, bottom + sketch.px(10), gantt.axis, Face::small, dim, 1);
}

constexpr float kStackBar = 28, kStackRow = 19, kMostRowWidth = 380;

double stack_total(const StackedBar& bar) {
  double out = 0;
  for (const StackPart& part : bar.parts) out += std::max(0.0, part.value);
  return out;
}

float paint_stack_rows(Sketch& sketch, const StackedBar& bar, double total, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  Canvas& canvas = sketch.canvas();
  const float right = at.x + std::min(width, sketch.px(kMostRowWidth));
  const float share = sketch.text_width("100 %"), value = right - share - sketch.px(14);
  for (const StackPart& part : bar.parts) {
    if (!(part.value > 0)) continue;
    sketch.area({at.x, at.y + sketch.px(2), at.x + sketch.px(18), at.y + sketch.px(14)}, part.colour,
                part.hatch);
    const float names = value - sketch.text_width(part.words) - sketch.px(32) - at.x;
    paint_fitted(canvas, at.x + sketch.px(26), at.y, names, part.name, Face::small, theme.text);
    canvas.text(value, at.y, part.words, Face::small, theme.text, 1);
    const double percent = 100 * part.value / total;
    canvas.text(right, at.y, percent < 0.95 ? "< 1 %" : fmt::format("{:.0f} %", percent), Face::small,
                theme.dim, 1);
    at.y += sketch.px(kStackRow);
  }
  return at.y;
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

std::string stage_of_span(const std::string& name) {
  if (name == "read") return "load";
  if (name == "upload") return "copy";
  return is_collective(name) ? "comm" : holds(kStageNames, name) ? name : "rest";
}

Gantt timeline_gantt(const SpanTable& table, const Timeline& timeline, const std::vector<std::size_t>& tracks,
                     const SpanLooks& span_of) {
  const auto ms = [&](std::int64_t us) { return static_cast<double>(us - timeline.begin_us) * 1e-3; };
  Gantt out{.end = ms(timeline.end_us), .axis = "time in ms"};
  for (const std::size_t track : tracks) {
    GanttRow& row = out.rows.emplace_back(GanttRow{table.tracks[track], {}});
    for (const std::size_t i : timeline.spans) {
      const SpanRow& span = table.spans[i];
      if (span.track != track) continue;
      std::optional<GanttSpan> drawn = span_of(table.names[span.name], track);
      if (!drawn) continue;
      drawn->begin = ms(span.begin_us);
      drawn->end = ms(span.end_us);
      row.spans.push_back(std::move(*drawn));
    }
  }
  for (const StepWindow& window : timeline.drawn)
    out.marks.push_back({ms(window.begin_us), fmt::format("step {}", window.step)});
  return out;
}

float paint_gantt(Sketch& sketch, const Gantt& gantt, PlotPoint at, float width, GanttArea* area) {
  const GanttPlaces places = gantt_places(sketch, gantt, at, width);
  if (!gantt.title.empty()) at.y = sketch.words(at, width, gantt.title) + sketch.px(4);
  if (!gantt.marks.empty()) at.y += sketch.px(kGanttLabel);
  const float bottom = at.y + places.row * static_cast<float>(gantt.rows.size());
  std::vector<Box> bars;
  for (std::size_t i = 0; i < gantt.rows.size(); ++i) {
    const float y = at.y + places.row * static_cast<float>(i);
    bars.push_back(paint_gantt_ground(sketch, gantt.rows[i], places, {at.x, y}));
  }
  paint_gantt_axis(sketch, gantt, places.x, at.y, bottom);
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

float paint_interval_bars(Sketch& sketch, const std::vector<IntervalBar>& bars, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  double most = 0;
  float labels = 0, words = 0;
  for (const IntervalBar& bar : bars) {
    most = std::max(most, bar.values.most());
    labels = std::max(labels, sketch.text_width(bar.label));
    words = std::max(words, sketch.text_width(bar.words));
  }
  labels = std::min(labels, 0.3F * width);
  words = std::min(words, 0.35F * width);
  const Axis x{.most = most > 0 ? most : 1,
               .begin = at.x + labels + sketch.px(12),
               .end = at.x + width - words - sketch.px(12)};
  const float row = sketch.canvas().height_of(sketch.px(22));
  for (const IntervalBar& bar : bars) {
    const float middle = at.y + row / 2, line = middle - sketch.canvas().line_height(Face::small) / 2;
    paint_fitted(sketch.canvas(), at.x, line, labels, bar.label, Face::small, theme.text);
    sketch.canvas().fill(
        {x.begin, middle - sketch.px(7), x.pixel(bar.values.median()), middle + sketch.px(7)},
        theme.series[0], 0);
    if (bar.values.most() > bar.values.least())
      sketch.line({x.pixel(bar.values.least()), middle}, {x.pixel(bar.values.most()), middle}, theme.text,
                  1.5F);
    paint_fitted(sketch.canvas(), at.x + width, line, words, bar.words, Face::small, theme.text, 1);
    at.y += row;
  }
  return at.y;
}

Drawing answer_bars(double said, const std::string& said_words, double right, const std::string& right_words,
                    double low, double high) {
  Drawing out{
      .title = "", .note = "", .alt = "You: " + said_words + ". It is " + right_words + ".", .body = {}};
  if (!(said > 0) || !(right > 0)) return out;
  const Spread reach({std::isfinite(low) ? low : right, right, std::isfinite(high) ? high : right});
  const std::vector<IntervalBar> bars = {{"you", Spread({said}), said_words}, {"it is", reach, right_words}};
  out.body = [bars](Sketch& sketch, PlotPoint at, float width) {
    return paint_interval_bars(sketch, bars, at, width);
  };
  return out;
}

float paint_stacked_bar(Sketch& sketch, const StackedBar& bar, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  const double total = stack_total(bar);
  at.y = sketch.words(at, width, bar.title + (bar.total.empty() ? "" : ": " + bar.total)) + sketch.px(4);
  if (!(total > 0)) return at.y;
  Axis x;
  x.most = std::max({total, bar.mark, bar.most}) / bar.unit;
  x.begin = at.x;
  x.end = at.x + width;
  const float bottom = at.y + sketch.px(kStackBar);
  double from = 0;
  for (const StackPart& part : bar.parts) {
    if (!(part.value > 0)) continue;
    const Box box = {x.pixel(from / bar.unit), at.y, x.pixel((from + part.value) / bar.unit), bottom};
    sketch.area(box, part.colour, part.hatch);
    from += part.value;
  }
  if (bar.mark > 0) {
    const float mark = x.pixel(bar.mark / bar.unit);
    sketch.line({mark, at.y - sketch.px(3)}, {mark, bottom + sketch.px(3)}, theme.text, 2);
  }
  paint_axis_below(sketch, x, bar.axis, bottom, bottom);
  at.y = bottom + sketch.px(28);
  if (!bar.mark_words.empty()) at.y = sketch.words(at, width, bar.mark_words) + sketch.px(2);
  if (!bar.has_rows) return at.y;
  return paint_stack_rows(sketch, bar, total, at, width);
}

float paint_stacked_bars(Sketch& sketch, std::vector<StackedBar> bars, PlotPoint at, float width) {
  std::vector<LegendEntry> legend;
  for (StackedBar& bar : bars) {
    bar.has_rows = false;
    for (const StackPart& part : bar.parts) {
      if (part.value > 0 && find_by(legend, &LegendEntry::words, part.name) == nullptr)
        legend.push_back({part.name, part.colour, part.hatch});
    }
    at.y = paint_stacked_bar(sketch, bar, at, width) + sketch.px(6);
  }
  return sketch.legend(at, width, legend);
}

StackPart memory_part(const Theme& theme, const std::string& name, double bytes) {
  struct Look {
    const char* name;
    std::size_t series;
    Hatch hatch;
  };
  static constexpr std::array<Look, 12> kLooks = {{{"weights", 6, Hatch::none},
                                                   {"gradients", 4, Hatch::falling},
                                                   {"moments", 2, Hatch::rising},
                                                   {"Adam", 2, Hatch::rising},
                                                   {"activations", 1, Hatch::level},
                                                   {"attention", 5, Hatch::dots},
                                                   {"N x N matrices", 5, Hatch::dots},
                                                   {"working", 3, Hatch::dots},
                                                   {"workspace", 3, Hatch::dots},
                                                   {"communication", 5, Hatch::crossed},
                                                   {"batches", 0, Hatch::crossed},
                                                   {"program", 7, Hatch::none}}};
  const Look* const look = find_by(kLooks, &Look::name, std::string_view(name));
  StackPart out{name, bytes, human_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes))), theme.dim,
                Hatch::none};
  if (look == nullptr) return out;
  out.colour = theme.series[look->series];
  out.hatch = look->hatch;
  return out;
}

StackedBar memory_bar(const Theme& theme, const std::string& title, const CountedBytes& categories,
                      double most) {
  StackedBar out{.title = title, .most = most};
  double total = 0;
  for (const auto& [name, bytes] : categories) {
    out.parts.push_back(memory_part(theme, name, static_cast<double>(bytes)));
    total += static_cast<double>(bytes);
  }
  const bool is_large = std::max(total, most) > 1e9;
  out.total = human_bytes(static_cast<std::uint64_t>(total));
  out.unit = is_large ? 1e9 : 1e6;
  out.axis = is_large ? "memory in GB" : "memory in MB";
  return out;
}

StackPart stage_part(const Theme& theme, const std::string& stage, double us) {
  return {stage, us, fmt::format("{:.2f} ms", us * 1e-3), stage_colour(theme, stage), stage_hatch(stage)};
}

}  // namespace isobar
