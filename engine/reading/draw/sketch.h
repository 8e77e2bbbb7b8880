#pragma once
// What pictures are made of: wrapped words, hatched areas, arrows, legends. Lengths that are not positions
// are pixels at scale 1 unless px() was asked.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draw/canvas.h"
#include "draw/colour.h"

namespace isobar {

/// What tells an area from its neighbours without colour.
enum class Hatch { none, rising, falling, crossed, level, dots };

/// That of a stage of a step, as its colour is.
Hatch stage_hatch(std::string_view stage);

/// One entry of a legend.
struct LegendEntry {
  std::string words;
  Colour colour = 0;
  Hatch hatch = Hatch::none;
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

}  // namespace isobar
