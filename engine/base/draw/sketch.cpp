#include "draw/sketch.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/stage.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr float kSketchLeading = 1.18F;

}  // namespace

Hatch stage_hatch(std::string_view stage) {
  static constexpr std::array<Hatch, kStageNames.size()> kHatches = {
      Hatch::rising, Hatch::dots, Hatch::none, Hatch::falling, Hatch::crossed, Hatch::level, Hatch::dots};
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (stage == kStageNames[i]) return kHatches[i];
  }
  return Hatch::none;
}

std::vector<std::string> Sketch::broken(const std::string& text, Face face, float width) const {
  std::vector<std::string> out;
  for (const std::string& paragraph : split(text, '\n')) {
    std::vector<std::string> lines =
        wrapped(paragraph, [&](const std::string& line) { return canvas_.text_width(line, face) <= width; });
    if (lines.empty()) lines.emplace_back();
    std::ranges::move(lines, std::back_inserter(out));
  }
  return out;
}

float Sketch::words(PlotPoint at, float width, const std::string& text, const Style& style) {
  const float step = canvas_.line_height(style.face) * kSketchLeading;
  for (const std::string& line : broken(text, style.face, width)) {
    canvas_.text(at.x + width * style.across, at.y, line, style.face,
                 style.colour != 0 ? style.colour : theme_.text, style.across);
    at.y += step;
  }
  return at.y;
}

float Sketch::words_height(const std::string& text, Face face, float width) const {
  return static_cast<float>(broken(text, face, width).size()) * canvas_.line_height(face) * kSketchLeading;
}

bool Sketch::words_in(const Box& box, std::span<const std::string> choices, Colour colour, Face face) {
  const float room = box.width() - px(6);
  for (const std::string& text : choices) {
    const std::vector<std::string> lines = broken(text, face, room);
    const bool is_narrow = std::ranges::all_of(
        lines, [&](const std::string& line) { return canvas_.text_width(line, face) <= room; });
    const float height = static_cast<float>(lines.size()) * canvas_.line_height(face) * kSketchLeading;
    if (!is_narrow || height > box.height() + px(3)) continue;
    words({box.x0 + px(3), box.y0 + (box.height() - height) / 2 + px(1)}, room, text,
          {.face = face, .colour = colour, .across = 0.5F});
    return true;
  }
  return false;
}

void Sketch::hatch_lines(const Box& box, Colour colour, Hatch hatch) {
  const float gap = px(7);
  canvas_.push_clip(box);
  const auto slanted = [&](bool rises) {
    for (float x = box.x0 - box.height(); x < box.x1; x += gap) {
      line({x, rises ? box.y1 : box.y0}, {x + box.height(), rises ? box.y0 : box.y1}, colour);
    }
  };
  if (hatch == Hatch::rising || hatch == Hatch::crossed) slanted(true);
  if (hatch == Hatch::falling || hatch == Hatch::crossed) slanted(false);
  if (hatch == Hatch::level) {
    for (float y = box.y0 + gap / 2; y < box.y1; y += gap) line({box.x0, y}, {box.x1, y}, colour);
  }
  if (hatch == Hatch::dots) {
    for (float y = box.y0 + gap / 2; y < box.y1; y += gap) {
      for (float x = box.x0 + gap / 2; x < box.x1; x += gap) canvas_.circle({x, y}, px(1), colour, true);
    }
  }
  canvas_.pop_clip();
}

void Sketch::area(const Box& box, Colour colour, Hatch hatch) {
  canvas_.fill(box, colour);
  if (hatch != Hatch::none) hatch_lines(box, with_alpha(ink_on(colour), 0.35F), hatch);
  canvas_.frame(box, theme_.panel);
}

void Sketch::pale(const Box& box, Colour colour, Hatch hatch) {
  canvas_.fill(box, mixed(theme_.panel, colour, 0.22F));
  if (hatch != Hatch::none) hatch_lines(box, with_alpha(colour, 0.45F), hatch);
  canvas_.frame(box, colour);
}

void Sketch::line(PlotPoint from, PlotPoint to, Colour colour, float width, Dash dash) {
  paint_stroke(canvas_, from, to, colour, px(width), dash);
}

void Sketch::arrow(PlotPoint from, PlotPoint to, Colour colour, float width, Dash dash) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (!(length > 0)) return;
  const float dx = (to.x - from.x) / length, dy = (to.y - from.y) / length;
  const float head = std::min(px(8), length), half = px(4);
  const PlotPoint neck = {to.x - dx * head, to.y - dy * head};
  line(from, neck, colour, width, dash);
  const std::array<PlotPoint, 3> points = {to, PlotPoint{neck.x - dy * half, neck.y + dx * half},
                                           PlotPoint{neck.x + dy * half, neck.y - dx * half}};
  canvas_.polygon(points, colour);
}

float Sketch::legend(PlotPoint at, float width, std::span<const LegendEntry> entries) {
  const float swatch = px(18), gap = px(18), step = px(20);
  float x = at.x;
  for (const LegendEntry& entry : entries) {
    const float wide = swatch + px(6) + text_width(entry.words);
    if (x > at.x && x + wide > at.x + width) {
      x = at.x;
      at.y += step;
    }
    const float middle = at.y + px(8);
    if (!entry.line && entry.mark == Mark::none)
      area({x, at.y + px(2), x + swatch, at.y + px(14)}, entry.colour, entry.hatch);
    if (entry.line) line({x, middle}, {x + swatch, middle}, entry.colour, 2, *entry.line);
    mark({x + swatch / 2, middle}, entry.mark, entry.colour, entry.line ? 3 : 4);
    canvas_.text(x + swatch + px(6), at.y, entry.words, Face::small, theme_.text);
    x += wide + gap;
  }
  return at.y + step;
}

}  // namespace isobar
