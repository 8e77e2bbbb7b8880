// Drawings, in the window and as files.
#include <algorithm>

#include "draw/sketch.h"
#include "draw/svg_canvas.h"

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
  if (width < sketch.px(wide_from)) return other({at.x, one(at, width) + sketch.px(16)}, width);
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

}  // namespace isobar
