#pragma once
// A canvas that is an SVG file.
#include <string_view>

#include "draw/canvas.h"

namespace isobar {

/// In the first line of every file of ours.
inline constexpr std::string_view kSvgMark = "font-family=\"Inter, system-ui, sans-serif\"";

class SvgCanvas : public Canvas {
 public:
  /// A picture of `width` x `height` pixels on `ground`; texts and distances are `scale` times as large.
  SvgCanvas(float width, float height, Colour ground, float scale = 1);

  /// Says what it shows, for who cannot see it.
  void describe(std::string_view title, std::string_view words);

  void line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) override;
  void fill(const Box& box, Colour colour, float rounding = 0) override;
  void frame(const Box& box, Colour colour) override;
  void polygon(std::span<const PlotPoint> points, Colour colour) override;
  void band(std::span<const BandPoint> points, Colour colour) override;
  void circle(PlotPoint at, float radius, Colour colour, bool filled) override;
  void text(float x, float y, std::string_view words, Face face, Colour colour, float across = 0) override;
  void picture(const Box& box, const std::shared_ptr<const Picture>& picture) override;
  void push_clip(const Box& box) override;
  void pop_clip() override;
  /// By the widths of Inter, whether or not it is there where the file is looked at.
  float text_width(std::string_view words, Face face) const override;
  float line_height(Face face) const override { return face_size(face) * scale_; }
  float scale() const override { return scale_; }

  std::string text() const;

 private:
  std::string head_;
  std::string body_;
  int clips_ = 0;
  float scale_;
};

}  // namespace isobar
