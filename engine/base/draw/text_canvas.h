#pragma once
// A canvas of characters: a picture in a terminal. A cell is 8 x 16 pixels and holds a letter, or 2 x 4 dots.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "draw/canvas.h"
#include "draw/text_style.h"

namespace isobar {

class TextCanvas : public Canvas {
 public:
  static constexpr float kCellWide = 8, kCellHigh = 16;

  explicit TextCanvas(const TextStyle& style);

  void line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) override;
  void fill(const Box& box, Colour colour, float rounding) override;
  /// Drawn where there is no colour; else the ground of an area shows where it ends.
  void frame(const Box& box, Colour colour) override;
  void polygon(std::span<const PlotPoint> points, Colour colour) override;
  void circle(PlotPoint at, float radius, Colour colour, bool filled) override;
  /// A letter where `radius` is 3 or more, or where there is no colour; else dots.
  void mark(PlotPoint at, Mark mark, float radius, Colour colour) override;
  /// On the row of its middle; on the one below or above where another text stands there.
  void text(float x, float y, std::string_view words, Face face, Colour colour, float across) override;
  void picture(const Box& box, const std::shared_ptr<const Picture>& picture) override;
  void push_clip(const Box& box) override { clips_.push_back(box); }
  void pop_clip() override { clips_.pop_back(); }
  float text_width(std::string_view words, Face face) const override;
  float line_height(Face) const override { return kCellHigh / 1.18F; }  // lines of a sketch are a row apart
  /// Whole rows.
  float height_of(float wished) const override;

  float width() const { return static_cast<float>(style_.columns) * kCellWide; }
  /// None is wider than the columns, escape sequences not counted. Empty ones at the ends are left out; or
  /// `rows` lines from the top, each as wide as the columns.
  std::vector<std::string> lines(std::size_t rows = 0) const;

 private:
  enum class Layer : std::uint8_t { area, faint, stroke };
  struct Letter {
    std::uint32_t code = 0;  ///< 0 = none
    Colour colour = 0;
    bool bold = false;
    bool is_mark = false;
  };
  struct Row {
    std::vector<Colour> areas;    ///< one for each dot, 0 = none
    std::vector<Colour> strokes;  ///< one for each dot, 0 = none
    std::vector<Letter> letters;
  };
  struct Look;  ///< what one cell shows

  std::string line_of(const Row& row, bool padded) const;
  Row* row_at(int dot_y);
  void dot(int x, int y, Colour colour, Layer layer);
  void fill_dots(const Box& box, const std::function<bool(PlotPoint)>& holds, Colour colour, Layer layer);
  Colour over_ground(Colour colour) const;
  bool is_faint(Colour colour) const;
  bool is_free(int row, int first, int count);
  std::uint32_t pattern_of(Colour area) const;
  Look look_of(const Row& row, std::size_t column) const;
  void add_area(Look& look, const std::vector<Colour>& dots) const;
  std::string codes_of(const Look& look) const;

  TextStyle style_;
  const Theme& theme_;
  std::vector<Row> rows_;
  std::vector<Box> clips_;
  mutable std::vector<Colour> patterns_;  ///< areas in the order in which they came, where there is no colour
};

}  // namespace isobar
