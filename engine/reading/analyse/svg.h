#pragma once
// The elements of a small SVG picture, written one after the other: later ones lie above earlier ones.
#include <string>
#include <vector>

namespace isobar {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

/// Places are pixels from the top left corner; `style` is attributes as they stand in the element, such as
/// "fill=\"#5b6470\"". Words are escaped, styles are not.
class Svg {
 public:
  void text(double x, double y, const std::string& words, const std::string& style);
  void line(double x1, double y1, double x2, double y2, const std::string& style);
  /// Through all points, open.
  void polyline(const std::vector<SvgPoint>& points, const std::string& style);
  void circle(SvgPoint centre, double radius, const std::string& style);
  /// Through all points, closed.
  void polygon(const std::vector<SvgPoint>& points, const std::string& style);

  /// The whole picture on a white ground, so that it can be read on a dark page too.
  std::string document(double width, double height) const;

 private:
  std::string body_;
};

}  // namespace isobar
