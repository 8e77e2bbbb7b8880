// Drawings, in the window, as files and as lines of text.
#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/sketch.h"
#include "draw/svg_canvas.h"
#include "draw/text_canvas.h"

namespace isobar {
namespace {

constexpr float kDrawingWidth = 840, kWiderFont = 1.14F, kDrawingInset = 14;

/// Takes in whatever is drawn; texts have the sizes of another canvas.
class MeasuringCanvas : public Canvas {
 public:
  explicit MeasuringCanvas(const Canvas& like) : like_(like) {}

  void line(std::span<const PlotPoint>, Colour, float, Dash) override {}
  void fill(const Box&, Colour, float) override {}
  void frame(const Box&, Colour) override {}
  void polygon(std::span<const PlotPoint>, Colour) override {}
  void circle(PlotPoint, float, Colour, bool) override {}
  void band(std::span<const BandPoint>, Colour) override {}
  void text(float, float, std::string_view, Face, Colour, float) override {}
  void picture(const Box&, const std::shared_ptr<const Picture>&) override {}
  void push_clip(const Box&) override {}
  void pop_clip() override {}
  float text_width(std::string_view words, Face face) const override { return like_.text_width(words, face); }
  float line_height(Face face) const override { return like_.line_height(face); }
  float scale() const override { return like_.scale(); }

 private:
  const Canvas& like_;
};

/// Who looks at a file may not have Inter: what else they have is wider.
class FileCanvas : public SvgCanvas {
 public:
  using SvgCanvas::SvgCanvas;
  float text_width(std::string_view words, Face face) const override {
    return kWiderFont * SvgCanvas::text_width(words, face);
  }
};

float paint_all(Canvas& canvas, const Theme& theme, const Box& box, const Drawing& drawing) {
  Sketch sketch(canvas, theme);
  const float inset = sketch.px(kDrawingInset), width = box.width() - 2 * inset;
  const float x = box.x0 + inset;
  float y = box.y0 + sketch.px(10);
  y = sketch.words({x, y}, width, drawing.title, {.face = Face::bold});
  if (!drawing.note.empty())
    y = sketch.words({x, y}, width, drawing.note, {.face = Face::small, .colour = theme.dim});
  return drawing.body(sketch, {x, y + sketch.px(10)}, width) + inset;
}

}  // namespace

float paint_pair(Sketch& sketch, PlotPoint at, float width, float wide_from, const PaintPart& one,
                 const PaintPart& other) {
  const float gap = sketch.px(32), half = (width - gap) / 2;
  if (width < sketch.px(sketch.is_text() ? 0.85F * wide_from : wide_from))
    return other({at.x, one(at, width) + sketch.px(16)}, width);
  const float end = one(at, half);
  return std::max(end, other({at.x + half + gap, at.y}, half));
}

float drawing_height(const Canvas& canvas, const Drawing& drawing, float width) {
  MeasuringCanvas measuring(canvas);
  return paint_all(measuring, theme_of(false), {0, 0, width, 0}, drawing);
}

void paint_drawing(Canvas& canvas, const Theme& theme, const Box& box, const Drawing& drawing) {
  paint_all(canvas, theme, box, drawing);
}

std::string drawing_svg(const Drawing& drawing, bool dark) {
  const Theme& theme = theme_of(dark);
  const float height = drawing_height(FileCanvas(kDrawingWidth, 1, theme.panel), drawing, kDrawingWidth);
  FileCanvas canvas(kDrawingWidth, height, theme.panel);
  canvas.describe(drawing.title, drawing.alt);
  paint_drawing(canvas, theme, {0, 0, kDrawingWidth, height}, drawing);
  return canvas.text();
}

std::vector<std::string> drawing_lines(const Drawing& drawing, const TextStyle& style) {
  constexpr std::size_t kLeastColumns = 30;
  TextCanvas canvas(style);
  Sketch sketch(canvas, theme_of(style.dark));
  const bool is_words =
      style.glyphs == TextStyle::Glyphs::words || style.columns < kLeastColumns || !drawing.body;
  PlotPoint at = {0, 0};
  if (!drawing.title.empty()) at.y = sketch.words(at, canvas.width(), drawing.title, {.face = Face::bold});
  if (!drawing.note.empty())
    at.y = sketch.words(at, canvas.width(), drawing.note, {.colour = sketch.theme().dim});
  at.y = std::round(at.y / TextCanvas::kCellHigh) * TextCanvas::kCellHigh;
  if (is_words) {
    sketch.words(at, canvas.width(), drawing.alt);
  } else {
    drawing.body(sketch, at, canvas.width());
  }
  return canvas.lines();
}

Drawing beside_each_other(std::vector<Drawing> drawings, float least_width) {
  std::vector<std::string> alts;
  for (const Drawing& one : drawings)
    alts.push_back(one.title.empty() ? one.alt : one.title + ": " + one.alt);
  Drawing out{.title = "", .note = "", .alt = joined(alts, " "), .body = {}};
  out.body = [drawings = std::move(drawings), least_width](Sketch& sketch, PlotPoint at, float width) {
    const float gap = sketch.px(16), fits = std::floor((width + gap) / (sketch.px(least_width) + gap));
    const auto across = static_cast<std::size_t>(
        std::clamp(fits, 1.0F, static_cast<float>(std::max<std::size_t>(1, drawings.size()))));
    const float step = std::floor((width + gap) / static_cast<float>(across) / 8) * 8;
    float top = at.y, end = at.y;
    for (std::size_t i = 0; i < drawings.size(); ++i) {
      if (i % across == 0) top = i == 0 ? at.y : end + sketch.px(16);
      PlotPoint place = {at.x + step * static_cast<float>(i % across), top};
      place.y = sketch.words(place, step - gap, drawings[i].title, {.face = Face::bold});
      end = std::max(end, drawings[i].body(sketch, place, step - gap));
    }
    return end;
  };
  return out;
}

}  // namespace isobar
