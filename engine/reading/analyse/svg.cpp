#include "analyse/svg.h"

#include <fmt/format.h>

#include "core/text.h"

namespace isobar {
namespace {

std::string places_of(const std::vector<SvgPoint>& points) {
  std::string out;
  for (const SvgPoint& at : points) out += fmt::format("{:.1f},{:.1f} ", at.x, at.y);
  return out;
}

}  // namespace

void Svg::text(double x, double y, const std::string& words, const std::string& style) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, xml_escaped(words));
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& style) {
  body_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, x2, y1, y2,
                       style);
}

void Svg::polyline(const std::vector<SvgPoint>& points, const std::string& style) {
  body_ += fmt::format("<polyline fill=\"none\" {} points=\"{}\"/>\n", style, places_of(points));
}

void Svg::circle(SvgPoint centre, double radius, const std::string& style) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>\n", centre.x, centre.y, radius,
                       style);
}

void Svg::polygon(const std::vector<SvgPoint>& points, const std::string& style) {
  body_ += fmt::format("<polygon {} points=\"{}\"/>\n", style, places_of(points));
}

std::string Svg::document(double width, double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"Inter, system-ui, sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      width, height, body_);
}

}  // namespace isobar
