#include "draw/stage_bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "draw/colour.h"

namespace isobar {
namespace {

constexpr float kPad = 12, kRow = 56, kBar = 24;

double total_us(const StageBar& bar) {
  double out = 0;
  for (const auto& [stage, us] : bar.stages_us) out += std::max(0.0, us);
  return out;
}

void paint_edge(Canvas& canvas, Colour colour, const Box& box) {
  const PlotPoint corners[] = {
      {box.x0, box.y0}, {box.x1, box.y0}, {box.x1, box.y1}, {box.x0, box.y1}, {box.x0, box.y0}};
  canvas.line(corners, colour, 1.2F * canvas.scale(), Dash::dotted);
}

/// The longest of these words that the box has room for.
void paint_words(Canvas& canvas, const Theme& theme, const Box& box, const std::string& stage, double us,
                 bool predicted) {
  const float s = canvas.scale();
  const Colour ink = predicted ? theme.text : ink_on(stage_colour(theme, stage));
  for (const std::string& words : {fmt::format("{} {:.1f} ms", stage, us * 1e-3), stage}) {
    if (canvas.text_width(words, Face::small) + 12 * s > box.width()) continue;
    canvas.text(box.x0 + 6 * s, box.y0 + (box.height() - canvas.line_height(Face::small)) / 2, words,
                Face::small, ink);
    return;
  }
}

void paint_bar(Canvas& canvas, const Theme& theme, const StageBar& bar, const Box& box, double most_us) {
  float x = box.x0;
  for (const auto& [stage, us] : bar.stages_us) {
    if (!(us > 0) || !(most_us > 0)) continue;
    const Box part = {x, box.y0, x + static_cast<float>(us / most_us) * box.width(), box.y1};
    const Colour colour = stage_colour(theme, stage);
    canvas.fill(part, bar.predicted ? with_alpha(colour, 0.30F) : colour);
    if (bar.predicted) paint_edge(canvas, colour, part);
    paint_words(canvas, theme, part, stage, us, bar.predicted);
    x = part.x1;
  }
}

}  // namespace

float stage_bars_height(const std::vector<StageBar>& bars, const Canvas& canvas) {
  return canvas.scale() * (kRow * static_cast<float>(bars.size()) + kPad);
}

void paint_stage_bars(Canvas& canvas, const Theme& theme, const std::vector<StageBar>& bars, const Box& box) {
  const float s = canvas.scale();
  double most_us = 0;
  float words = 0;
  for (const StageBar& bar : bars) {
    most_us = std::max(most_us, total_us(bar));
    words = std::max(words, canvas.text_width(bar.words, Face::small));
  }
  const float x0 = box.x0 + kPad * s, x1 = box.x1 - kPad * s;
  float y = box.y0 + 6 * s;
  for (const StageBar& bar : bars) {
    canvas.text(x0, y, canvas.fitted(bar.label, Face::small, x1 - x0), Face::small, theme.dim);
    const Box room = {x0, y + 20 * s, x1 - words - 8 * s, y + (20 + kBar) * s};
    paint_bar(canvas, theme, bar, room, most_us);
    const float end =
        most_us > 0 ? room.x0 + static_cast<float>(total_us(bar) / most_us) * room.width() : room.x0;
    canvas.text(end + 8 * s, y + 23 * s, bar.words, Face::small, theme.text);
    y += kRow * s;
  }
}

std::string stage_bars_csv(const std::vector<StageBar>& bars) {
  std::string out = "step,provenance,stage,us\n";
  for (const StageBar& bar : bars) {
    std::string label = bar.label;
    std::replace(label.begin(), label.end(), '"', '\'');
    for (const auto& [stage, us] : bar.stages_us)
      out += fmt::format("\"{}\",{},{},{:.1f}\n", label, bar.predicted ? "predicted" : "measured", stage, us);
  }
  return out;
}

}  // namespace isobar
