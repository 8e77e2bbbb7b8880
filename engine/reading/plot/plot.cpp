#include "plot/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/chart.h"
#include "draw/colour.h"

namespace isobar {
namespace {

constexpr double kMargin = 0.05;  // of the data's height, above and below

/// Limits with a margin; never empty, never infinite.
Limits padded(Extent extent, bool log, bool from_zero) {
  if (extent.finite == 0) return {log ? 0.1 : 0.0, 1.0};
  double least = extent.least;
  double most = extent.most;
  if (log) {
    if (!(least > 0)) least = most > 0 ? most * 1e-3 : 0.1;
    if (!(most > least)) return {least / 2, least * 2};
    const double margin = std::pow(most / least, kMargin);
    return {std::max(least / margin, 1e-300), std::min(most * margin, 1e300)};
  }
  if (from_zero) least = std::min(0.0, least);
  least = std::max(least, -1e300);
  most = std::min(most, 1e300);
  if (!(most > least)) {
    const double half = std::max(std::fabs(least) * 0.05, 1e-12);
    return {from_zero && least >= 0 ? 0.0 : least - half, most + half};
  }
  const double margin = (most - least) * kMargin;
  return {from_zero && least >= 0 ? 0.0 : least - margin, most + margin};
}

Extent data_extent(const PlotSpec& spec, const PlotView& view, const PlotLink& link) {
  Extent out;
  for (const PlotLine* const line : shown_lines(spec, view)) {
    for (const Curve* const curve : {line->curve, line->low, line->high}) {
      if (curve != nullptr)
        out.join(extent_between(*line->places, *curve, link.x.least, link.x.most, view.log_y));
    }
    for (const Limits& reach : line->reach) {
      if (reach.most >= reach.least && (!view.log_y || reach.least > 0))
        out.join({reach.least, reach.most, 0, 2, 2});
    }
  }
  for (const PlotLevel& level : spec.levels) {
    if (std::isfinite(level.value) && (!view.log_y || level.value > 0)) {
      out.join({level.value, level.value, level.value, 1, 1});
    }
  }
  return out;
}

double eased(double from, double to, float part, bool log) {
  if (part >= 1 || !std::isfinite(from)) return to;
  if (log && from > 0 && to > 0) return from * std::pow(to / from, static_cast<double>(part));
  return from + (to - from) * static_cast<double>(part);
}

/// Where a line is at this pixel of x; NaN before its first value and behind its last.
float height_at(const PlotLine& line, float x, const PlotLayout& at) {
  const Curve& curve = *line.curve;
  const std::size_t after = curve.index_of_row(line.places->lower_bound(at.x.value(x)));
  if (after == 0 || after >= curve.y.size()) return NAN;
  const auto point = [&](std::size_t i) {
    return PlotPoint{at.x.pixel((*line.places)[curve.row(i)]), at.y.pixel(curve.y[i])};
  };
  const PlotPoint from = point(after - 1);
  const PlotPoint to = point(after);
  return to.x > from.x ? from.y + (to.y - from.y) * (x - from.x) / (to.x - from.x) : to.y;
}

bool is_free(const Box& box, const std::vector<const PlotLine*>& lines, const std::vector<Box>& taken,
             const PlotLayout& at) {
  constexpr int kLooks = 12;  // along the box
  if (box.y0 < at.area.y0 || box.y1 > at.area.y1) return false;
  for (const Box& other : taken) {
    const bool apart = box.x1 <= other.x0 || other.x1 <= box.x0 || box.y1 <= other.y0 || other.y1 <= box.y0;
    if (!apart) return false;
  }
  for (const PlotLine* const line : lines) {
    for (int i = 0; i <= kLooks; ++i) {
      const float y = height_at(*line, box.x0 + box.width() * static_cast<float>(i) / kLooks, at);
      if (y >= box.y0 - 2 && y <= box.y1 + 2) return false;
    }
  }
  return true;
}

/// Above or below its level, right or left: the first place that covers nothing, else the first.
Box level_box(float y, float width, float height, float gap, const std::vector<const PlotLine*>& lines,
              const std::vector<Box>& taken, const PlotLayout& at) {
  std::vector<Box> places;
  for (const float x : {at.area.x1 - width, at.area.x0}) {
    for (const float top : {y - height - gap, y + gap}) places.push_back({x, top, x + width, top + height});
  }
  const auto free =
      std::ranges::find_if(places, [&](const Box& box) { return is_free(box, lines, taken, at); });
  return free == places.end() ? places.front() : *free;
}

void paint_levels(Canvas& canvas, Colour ground, const PlotSpec& spec,
                  const std::vector<const PlotLine*>& lines, const PlotLayout& at) {
  const float s = canvas.scale();
  std::vector<Box> taken;
  std::vector<const PlotLevel*> order;
  for (const PlotLevel& level : spec.levels) {
    if (std::isfinite(level.value)) order.push_back(&level);
  }
  std::ranges::sort(order, [](auto* a, auto* b) { return a->value < b->value; });
  for (const PlotLevel* const level : order) {
    const float y = at.y.pixel(level->value);
    paint_stroke(canvas, {at.area.x0, y}, {at.area.x1, y}, level->colour, 1.4F * s, level->dash);
    if (!level->end_words.empty()) continue;
    const std::string words = fmt::format("{} {}", level->label, engineering(level->value, 3));
    const float width = canvas.text_width(words, Face::small) + 8 * s;
    const Box box = level_box(y, width, canvas.line_height(Face::small) + s, 1.5F * s, lines, taken, at);
    canvas.fill(box, with_alpha(ground, 0.75F));
    canvas.text(box.x0 + 4 * s, box.y0, words, Face::small, level->colour);
    taken.push_back(box);
  }
}

/// What stands right of the plot; pushed apart, so that lines that end at one place can be read.
struct EndWords {
  float y = 0;
  std::string words;
  Colour colour = 0;
};

std::vector<EndWords> end_words(const PlotSpec& spec, const PlotView& view, const Axis& y) {
  std::vector<EndWords> out;
  const auto add = [&](double value, const std::string& words, Colour colour) {
    if (!words.empty() && std::isfinite(value)) out.push_back({y.pixel(value), words, colour});
  };
  const auto has_words = [](const PlotLine& line) { return !line.end_words.empty(); };
  if (std::ranges::any_of(spec.lines, has_words)) {  // else not even asked, in every frame
    for (const PlotLine* const line : shown_lines(spec, view))
      add(line->curve->y.back(), line->end_words, line->colour);
  }
  for (const PlotLevel& level : spec.levels) add(level.value, level.end_words, level.colour);
  return out;
}

void paint_ends(Canvas& canvas, const Theme& theme, std::vector<EndWords> ends, const Box& area) {
  const float apart = canvas.line_height(Face::small);
  std::ranges::sort(ends, [](const EndWords& a, const EndWords& b) { return a.y < b.y; });
  float next = area.y0;
  for (EndWords& end : ends) {
    end.y = std::max(end.y, next);
    next = end.y + apart;
  }
  float beyond = area.y1;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    end->y = std::min(end->y, beyond);
    beyond = end->y - apart;
  }
  for (const EndWords& end : ends) {
    canvas.text(area.x1 + 8 * canvas.scale(), end.y - apart / 2, end.words, Face::small,
                readable(end.colour, theme.panel, 4.5));
  }
}

}  // namespace

PlotLine line_of(std::string label, Colour colour, const std::vector<std::pair<double, double>>& points) {
  struct Values {
    Series places;
    Curve curve;
  };
  const auto values = std::make_shared<Values>();
  for (const auto& [x, y] : points) {
    values->places.push(x);
    values->curve.push(values->places.size() - 1, y);
  }
  PlotLine out;
  out.id = label;
  out.label = std::move(label);
  out.colour = colour;
  out.places = &values->places;
  out.curve = &values->curve;
  out.keep = values;
  return out;
}

void PlotView::ease_y(float part) {
  if (!std::exchange(drawn, true)) part = 1;
  y = {eased(y.least, want.least, part, log_y), eased(y.most, want.most, part, log_y)};
  if (!is_easing()) y = want;
}

bool PlotView::is_easing() const {
  return std::fabs(y.least - want.least) + std::fabs(y.most - want.most) > (want.most - want.least) * 1e-3;
}

void PlotLink::begin_frame() {
  full = std::exchange(seen, std::nullopt).value_or(full);
  hover = std::exchange(next_hover, std::nullopt);
  if (!fit_x) return;
  x = full;
  if (log_x && !(x.least > 0)) x.least = x.most > 1 ? 1 : x.most > 0 ? x.most * 1e-3 : 0.1;
  if (!(x.most > x.least)) x.most = x.least + 1;
}

void PlotLink::see(double least, double most) {
  if (!std::isfinite(least) || !std::isfinite(most)) return;
  seen = seen ? Limits{std::min(seen->least, least), std::max(seen->most, most)} : Limits{least, most};
}

std::vector<const PlotLine*> shown_lines(const PlotSpec& spec, const PlotView& view) {
  std::vector<const PlotLine*> out;
  for (const PlotLine& line : spec.lines) {
    if (line.curve != nullptr && !line.curve->y.empty() && view.hidden.count(line.id) == 0)
      out.push_back(&line);
  }
  return out;
}

PlotLayout lay_out(const PlotSpec& spec, PlotView& view, const PlotLink& link, const Box& box,
                   const Canvas& canvas, float ease) {
  if (view.fit_y) {
    view.want = padded(data_extent(spec, view, link), view.log_y, spec.from_zero);
  }
  view.ease_y(ease);
  if (!(view.y.most > view.y.least)) view.y.most = view.y.least + 1;
  if (view.log_y && !(view.y.least > 0)) view.y.least = view.want.least;

  const float s = canvas.scale();
  PlotLayout at;
  at.box = box;
  at.y = {view.y.least, view.y.most, view.log_y, false, 0, 0};
  float label_width = 24 * s;
  at.y.begin = box.y1;
  at.y.end = box.y0;
  for (const Tick& tick : ticks(at.y, 46 * s)) {
    label_width = std::max(label_width, canvas.text_width(tick.label, Face::small));
  }
  float ends_width = 0;
  for (const EndWords& end : end_words(spec, view, at.y))
    ends_width = std::max(ends_width, canvas.text_width(end.words, Face::small));
  const float top = box.y0 + (spec.subtitle.empty() ? 0 : 20) * s;
  at.area = {std::round(box.x0 + label_width + 20 * s), std::round(top + 36 * s),
             std::round(box.x1 - ends_width - 14 * s), std::round(box.y1 - kXMarksHeight * s)};
  at.legend = {at.area.x0, top + 32 * s, at.area.x1, top + 32 * s};
  at.x = {link.x.least, link.x.most, link.log_x && link.x.least > 0, spec.x_is_whole, at.area.x0, at.area.x1};
  if (spec.legend) {
    for (const auto& [line, place] : legend_boxes(spec, at, canvas)) {
      at.legend.y1 = std::max(at.legend.y1, place.y1);
    }
    if (at.legend.y1 > at.legend.y0) at.area.y0 = at.legend.y1 + 8 * s;
  }
  at.y.begin = at.area.y1;
  at.y.end = at.area.y0;
  return at;
}

std::vector<std::pair<const PlotLine*, Box>> legend_boxes(const PlotSpec& spec, const PlotLayout& layout,
                                                          const Canvas& canvas) {
  std::vector<std::pair<const PlotLine*, Box>> out;
  const float s = canvas.scale();
  const float height = canvas.line_height(Face::small) + 4 * s;
  float x = layout.legend.x0;
  float y = layout.legend.y0;
  for (const PlotLine& line : spec.lines) {
    if (line.curve == nullptr || line.curve->y.empty()) continue;
    const float room = layout.legend.x1 - layout.legend.x0;
    const float width = std::min(room, canvas.text_width(line.label, Face::small) + 24 * s);
    if (x > layout.legend.x0 && x + width > layout.legend.x1) {
      x = layout.legend.x0;
      y += height;
    }
    if (y > layout.legend.y0 + 2.5F * height)
      break;  // three rows at most: more runs are told apart by hovering
    out.push_back({&line, {x, y, x + width, y + height}});
    x += width + 14 * s;
  }
  return out;
}

void paint_legend(Canvas& canvas, const Theme& theme, const PlotSpec& spec, const PlotView& view,
                  const PlotLayout& at) {
  const float s = canvas.scale();
  for (const auto& [line, box] : legend_boxes(spec, at, canvas)) {
    const bool off = view.hidden.count(line->id) != 0;
    const Colour colour = off ? mixed(theme.panel, theme.dim, 0.5F) : line->colour;
    const float middle = (box.y0 + box.y1) / 2;
    paint_stroke(canvas, {box.x0, middle}, {box.x0 + 16 * s, middle}, colour, 2 * s, line->dash);
    canvas.mark({box.x0 + 8 * s, middle}, line->mark, 3 * s, colour);
    paint_fitted(canvas, box.x0 + 22 * s, box.y0 + 2 * s, box.width() - 22 * s + 1, line->label, Face::small,
                 off ? colour : theme.text);
  }
}

void paint_plot(Canvas& canvas, const Theme& theme, const PlotSpec& spec, const PlotView& view,
                const PlotLink& link, const PlotLayout& at, Smoother& smoother) {
  const float s = canvas.scale();
  const float left = at.box.x0 + 12 * s, room = at.box.width() - 24 * s;
  paint_fitted(canvas, left, at.box.y0 + 10 * s, room, spec.title, Face::bold, theme.text);
  paint_fitted(canvas, left, at.box.y0 + 30 * s, room, spec.subtitle, Face::small, theme.dim);
  const std::vector<const PlotLine*> lines = shown_lines(spec, view);
  if (spec.legend && !spec.lines.empty()) paint_legend(canvas, theme, spec, view, at);
  if (lines.empty()) return paint_empty(canvas, theme, spec.empty, at.area);
  paint_y_marks(canvas, theme, ticks(at.y, 46 * s), at.y, at.area);
  paint_x_marks(canvas, theme, {spec.x_title, spec.x_is_time, spec.x_marks}, at.x, at.area);
  canvas.push_clip({at.area.x0 - 4 * s, at.area.y0 - 4 * s, at.area.x1 + 4 * s, at.area.y1 + 4 * s});
  paint_lines(canvas, spec, view, link, at, smoother);
  paint_levels(canvas, theme.panel, spec, lines, at);
  canvas.pop_clip();
  paint_ends(canvas, theme, end_words(spec, view, at.y), at.area);
}

std::string plot_csv(const PlotSpec& spec, const PlotView& view) {
  const std::vector<const PlotLine*> lines = shown_lines(spec, view);
  std::string out = "line," + spec.x_title + ",value\n";
  for (const PlotLine* const line : lines) {
    const auto add = [&](const std::string& name, const Curve* curve) {
      for (std::size_t i = 0; curve != nullptr && i < curve->y.size(); ++i)
        out += fmt::format("{},{},{}\n", csv_quoted(name), (*line->places)[curve->row(i)], curve->y[i]);
    };
    add(line->label, line->curve);
    add(line->label + ", p10", line->low);
    add(line->label + ", p90", line->high);
  }
  for (const PlotLevel& level : spec.levels) out += fmt::format("\"{}\",,{}\n", level.label, level.value);
  return out;
}

}  // namespace isobar
