#include "draw/x_marks.h"

#include <algorithm>
#include <cmath>

#include "draw/colour.h"

namespace isobar {
namespace {

std::vector<Tick> marks_of(const XMarks& marks, const Axis& x, float scale) {
  std::vector<Tick> out;
  for (const double value : marks.at) out.push_back({value, engineering(value)});
  if (!out.empty()) return out;
  out = ticks(x, (marks.is_time ? 80 : 62) * scale);
  for (Tick& tick : out) {
    if (marks.is_time && !tick.label.empty()) tick.label = tick.value == 0 ? "0" : clock_text(tick.value);
  }
  return out;
}

/// Where the axis ends, so that nobody has to guess how far it goes.
Tick end_of(const XMarks& marks, const Axis& x) {
  const double value = x.whole ? std::floor(x.most) : x.most;
  return {value, marks.is_time ? clock_text(value) : engineering(value)};
}

}  // namespace

void paint_x_marks(Canvas& canvas, const Theme& theme, const XMarks& marks, const Axis& x, const Box& area) {
  const float s = canvas.scale();
  const Colour major = mixed(theme.panel, theme.line, 0.75F);
  const Colour minor = mixed(theme.panel, theme.line, 0.3F);
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
  for (const Tick& tick : marks_of(marks, x, s)) {
    const float at = std::round(x.pixel(tick.value));
    if (at < area.x0 - 1 || at > area.x1 + 1) continue;
    canvas.fill({at, area.y0, at + 1, area.y1}, tick.label.empty() ? minor : major);
    const float half = half_of(tick.label);
    if (tick.label.empty() || at - half < right_of_last + 10 * s || at + half > room) continue;
    label(at, tick.label);
    right_of_last = at + half;
  }
  canvas.text(area.x1, area.y1 + 21 * s, marks.title, Face::small, theme.dim, 1);
}

}  // namespace isobar
