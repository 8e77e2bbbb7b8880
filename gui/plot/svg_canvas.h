#pragma once
// The same drawing as an SVG file.
#include "plot/canvas.h"

namespace isobar {

class SvgCanvas : public Canvas {
 public:
  /// A picture of `width` x `height` pixels on `ground`.
  SvgCanvas(float width, float height, ImU32 ground, const Fonts& fonts);

  void line(std::span<const PlotPoint> points, ImU32 colour, float width, Dash dash) override;
  void fill(const Box& box, ImU32 colour, float rounding = 0) override;
  void frame(const Box& box, ImU32 colour) override;
  void polygon(std::span<const PlotPoint> points, ImU32 colour) override;
  void circle(PlotPoint at, float radius, ImU32 colour, bool filled) override;
  void text(float x, float y, std::string_view words, Face face, ImU32 colour, float across = 0) override;
  void picture(const Box& box, const std::shared_ptr<const Picture>& picture) override;
  void push_clip(const Box& box) override;
  void pop_clip() override;

  std::string text() const;

 private:
  std::string head_;
  std::string body_;
  int clips_ = 0;
};

}  // namespace isobar
