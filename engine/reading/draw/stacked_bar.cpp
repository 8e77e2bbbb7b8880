#include "draw/stacked_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "draw/axis.h"

namespace isobar {
namespace {

constexpr float kStackBar = 28, kStackRow = 19, kMostRowWidth = 380;

double stack_total(const StackedBar& bar) {
  double out = 0;
  for (const StackPart& part : bar.parts) out += std::max(0.0, part.value);
  return out;
}

void paint_stack_axis(Sketch& sketch, const StackedBar& bar, const Axis& x, float y) {
  const Theme& theme = sketch.theme();
  sketch.line({x.begin, y}, {x.end, y}, theme.dim);
  sketch.canvas().text(x.end, y + sketch.px(7), bar.axis, Face::small, theme.dim, 1);
  const float most = x.end - sketch.text_width(bar.axis) - sketch.px(10);
  for (const Tick& tick : ticks(x, sketch.px(70))) {
    const float at = x.pixel(tick.value), half = sketch.text_width(tick.label) / 2;
    if (tick.label.empty()) continue;
    sketch.line({at, y}, {at, y + sketch.px(4)}, theme.dim);
    const float left = std::max(x.begin, at - half);
    if (left + 2 * half < most)
      sketch.canvas().text(left, y + sketch.px(7), tick.label, Face::small, theme.dim);
  }
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
    canvas.text(at.x + sketch.px(26), at.y, canvas.fitted(part.name, Face::small, names), Face::small,
                theme.text);
    canvas.text(value, at.y, part.words, Face::small, theme.text, 1);
    const double percent = 100 * part.value / total;
    canvas.text(right, at.y, percent < 0.95 ? "< 1 %" : fmt::format("{:.0f} %", percent), Face::small,
                theme.dim, 1);
    at.y += sketch.px(kStackRow);
  }
  return at.y;
}

}  // namespace

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
  paint_stack_axis(sketch, bar, x, bottom);
  at.y = bottom + sketch.px(28);
  if (!bar.mark_words.empty()) at.y = sketch.words(at, width, bar.mark_words) + sketch.px(2);
  if (!bar.has_rows) return at.y;
  return paint_stack_rows(sketch, bar, total, at, width);
}

StackPart memory_part(const Theme& theme, const std::string& name, double bytes) {
  struct Look {
    const char* name;
    std::size_t series;
    Hatch hatch;
  };
  static constexpr std::array<Look, 10> kLooks = {{{"weights", 6, Hatch::none},
                                                   {"gradients", 4, Hatch::falling},
                                                   {"moments", 2, Hatch::rising},
                                                   {"Adam", 2, Hatch::rising},
                                                   {"activations", 1, Hatch::level},
                                                   {"attention", 5, Hatch::dots},
                                                   {"N x N matrices", 5, Hatch::dots},
                                                   {"working", 3, Hatch::dots},
                                                   {"batches", 0, Hatch::crossed},
                                                   {"program", 7, Hatch::none}}};
  const auto* const look =
      std::find_if(kLooks.begin(), kLooks.end(), [&](const Look& one) { return name == one.name; });
  StackPart out{name, bytes, human_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes))), theme.dim,
                Hatch::none};
  if (look == kLooks.end()) return out;
  out.colour = theme.series[look->series];
  out.hatch = look->hatch;
  return out;
}

StackPart stage_part(const Theme& theme, const std::string& stage, double us) {
  return {stage, us, fmt::format("{:.2f} ms", us * 1e-3), stage_colour(theme, stage), stage_hatch(stage)};
}

}  // namespace isobar
