#pragma once
// What pictures are made of: wrapped words, hatched areas, arrows, legends. Lengths that are not positions
// are pixels at scale 1 unless px() was asked.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"
#include "draw/colour.h"
#include "draw/text_style.h"

namespace isobar {

/// A pattern sets an area apart from its neighbours without colour.
enum class Hatch { none, rising, falling, crossed, level, dots };

/// The hatch of a stage of a step, beside its colour.
Hatch stage_hatch(std::string_view stage);

/// One entry of a legend: an area, or a line and a mark where it has one of them.
struct LegendEntry {
  std::string words;
  Colour colour = 0;
  Hatch hatch = Hatch::none;
  std::optional<Dash> line = {};
  Mark mark = Mark::none;
};

class Sketch {
 public:
  struct Style {
    Face face = Face::small;
    Colour colour = 0;  ///< 0 = that of text
    float across = 0;   ///< 0 begins at x, 0.5 is centred in the width, 1 ends where the width does
  };

  Sketch(Canvas& canvas, const Theme& theme) : canvas_(canvas), theme_(theme) {}

  Canvas& canvas() { return canvas_; }
  const Theme& theme() const { return theme_; }
  float px(float pixels) const { return pixels * canvas_.scale(); }
  /// Heights are whole lines of text.
  bool is_text() const { return canvas_.height_of(1) > 1; }
  float text_width(std::string_view words, Face face = Face::small) const {
    return canvas_.text_width(words, face);
  }

  /// Lines of `text` that are at most `width` wide, broken at spaces and at "\n".
  std::vector<std::string> broken(const std::string& text, Face face, float width) const;
  /// Writes them below each other; gives the y below the last.
  float words(PlotPoint at, float width, const std::string& text, const Style& style);
  float words(PlotPoint at, float width, const std::string& text) { return words(at, width, text, Style{}); }
  float words_height(const std::string& text, Face face, float width) const;
  /// In the middle of a box, the first of `choices` that fits, over several lines if it must; false: none
  /// does.
  bool words_in(const Box& box, std::span<const std::string> choices, Colour colour, Face face = Face::small);

  /// A filled area with an edge.
  void area(const Box& box, Colour colour, Hatch hatch = Hatch::none);
  /// A pale one, for words in the colour of text.
  void pale(const Box& box, Colour colour, Hatch hatch = Hatch::none);
  void line(PlotPoint from, PlotPoint to, Colour colour, float width = 1, Dash dash = Dash::solid);
  void mark(PlotPoint at, Mark mark, Colour colour, float radius = 5) {
    canvas_.mark(at, mark, px(radius), colour);
  }
  /// With a head at `to`.
  void arrow(PlotPoint from, PlotPoint to, Colour colour, float width = 1.5F, Dash dash = Dash::solid);
  /// Entries beside each other, over as many lines as they need; gives the y below the last.
  float legend(PlotPoint at, float width, std::span<const LegendEntry> entries);

 private:
  void hatch_lines(const Box& box, Colour colour, Hatch hatch);

  Canvas& canvas_;
  const Theme& theme_;
};

/// A picture that is laid out for the width it gets: for the window, and for files.
struct Drawing {
  std::string title;
  std::string note;  ///< below the title: where its values are from, "schematic", "measured here"
  std::string alt;   ///< what it shows, in words for who cannot see it
  /// Draws below `at.y`, between `at.x` and `at.x` + `width`; gives the y where it ends.
  std::function<float(Sketch& sketch, PlotPoint at, float width)> body;
};

/// Draws two parts beside each other from a width of `wide_from` pixels (at scale 1) on, else below each
/// other; gives the y where they end.
using PaintPart = std::function<float(PlotPoint at, float width)>;
float paint_pair(Sketch& sketch, PlotPoint at, float width, float wide_from, const PaintPart& one,
                 const PaintPart& other);

/// Height at this width, in the pixels of `canvas`.
float drawing_height(const Canvas& canvas, const Drawing& drawing, float width);

/// Draws from the top of the box, as wide as it is, without a ground.
void paint_drawing(Canvas& canvas, const Theme& theme, const Box& box, const Drawing& drawing);

/// An SVG file with a ground of its own, and `alt` for readers that cannot see it.
std::string drawing_svg(const Drawing& drawing, bool dark = false);

/// The drawing, or in `words` its `alt`, below its title and note. A terminal of fewer than 30
/// columns gets words.
std::vector<std::string> drawing_lines(const Drawing& drawing, const TextStyle& style);

/// Drawings beside each other, over as many rows as they need, each below its title.
Drawing beside_each_other(std::vector<Drawing> drawings, float least_width = 200);

}  // namespace isobar
