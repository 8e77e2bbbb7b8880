#pragma once
// What plots draw on: the window, an SVG file, or the characters of a terminal. Pixels, y downwards.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/colour.h"

namespace isobar {

struct PlotPoint {
  float x = 0;
  float y = 0;
};

/// A band over one place of x.
struct BandPoint {
  float x = 0;
  float low = 0, high = 0;
};

enum class Face { text, small, bold, title, mono, mono_small };

/// Height of a line of text, in pixels.
float face_size(Face face);

enum class Dash { solid, dashed, dotted };
enum class Mark { circle, square, triangle, diamond, down, cross, ring, star, frame, none };

struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  bool operator==(const Box&) const = default;

  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  bool contains(PlotPoint at) const { return at.x >= x0 && at.x < x1 && at.y >= y0 && at.y < y1; }
};

/// A picture in memory, four bytes a pixel (RGBA), first row at the top.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;
};

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) = 0;
  virtual void fill(const Box& box, Colour colour, float rounding = 0) = 0;
  virtual void frame(const Box& box, Colour colour) = 0;
  virtual void polygon(std::span<const PlotPoint> points, Colour colour) = 0;
  virtual void circle(PlotPoint at, float radius, Colour colour, bool filled) = 0;
  /// The area between the edges of a band, along whole pixels unless the canvas can do better.
  virtual void band(std::span<const BandPoint> points, Colour colour);
  /// `across` 0 begins at x, 0.5 is centred there, 1 ends there; y is the top of the line.
  virtual void text(float x, float y, std::string_view words, Face face, Colour colour, float across = 0) = 0;
  virtual void picture(const Box& box, const std::shared_ptr<const Picture>& picture) = 0;
  virtual void push_clip(const Box& box) = 0;
  virtual void pop_clip() = 0;

  virtual float text_width(std::string_view words, Face face) const = 0;
  virtual float line_height(Face face) const = 0;
  virtual float scale() const { return 1; }
  /// Height that an area or a row gets which asks for so much.
  virtual float height_of(float wished) const { return wished; }
  virtual void mark(PlotPoint at, Mark mark, float radius, Colour colour);
  /// `words` cut with an ellipsis so that they are at most `width` wide.
  std::string fitted(std::string_view words, Face face, float width) const;
};

void paint_stroke(Canvas& canvas, PlotPoint from, PlotPoint to, Colour colour, float width,
                  Dash dash = Dash::solid);
/// A line along the edges of the box.
void paint_outline(Canvas& canvas, const Box& box, Colour colour, float width, Dash dash = Dash::solid);
/// `words`, cut so that they are at most `width` wide.
void paint_fitted(Canvas& canvas, float x, float y, float width, std::string_view words, Face face,
                  Colour colour, float across = 0);

// Small signs: what is done, what failed, which way something goes.

/// Around `middle`, nine pixels wide.
void paint_tick(Canvas& canvas, PlotPoint middle, Colour colour);

enum class CheckMark { open, held, failed };

/// A box of 14 pixels from `corner` on: filled with a tick or a cross, or only framed.
Box paint_check(Canvas& canvas, const Theme& theme, PlotPoint corner, CheckMark check, Colour held);

enum class Way { up, down, right };

/// The head of an arrow around `middle`, `half` as wide to each side.
void paint_chevron(Canvas& canvas, PlotPoint middle, float half, Way way, Colour colour, float width);

}  // namespace isobar
