// The shapes that a learner picks a curve from.
#include <algorithm>
#include <set>
#include <string>

#include "core/utf8.h"
#include "course/curve_shape.h"
#include "support/catch.h"

using namespace isobar;

namespace {

std::size_t letters(const std::string& line) {
  std::size_t out = 0;
  for (std::size_t at = 0; at < line.size(); at += utf8_length(std::string_view(line).substr(at))) ++out;
  return out;
}

double end_of(const CurveShape& shape) { return shape.points.back().y; }

}  // namespace

TEST_CASE("each shape ends as its words say") {
  const double usual = end_of(usual_curve());
  const double begin = usual_curve().points.front().y;
  CHECK(std::string(usual_curve().key) == "same");
  CHECK(end_of(*curve_shape("slower")) > usual);
  CHECK(end_of(*curve_shape("lower")) < usual);
  CHECK(end_of(*curve_shape("flat")) == Approx(begin).margin(0.1));
  CHECK(end_of(*curve_shape("rises")) > begin);
  CHECK(curve_shape("stops")->stops);
  CHECK(curve_shape("stops")->points.back().x < 1);
  CHECK(curve_shape("sideways") == nullptr);
  for (const CurveShape& shape : curve_shapes()) {
    INFO(shape.key);
    CHECK(shape.points.front().x == 0);
    CHECK(shape.points.front().y == Approx(begin));
    CHECK(std::is_sorted(shape.points.begin(), shape.points.end(),
                         [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; }));
    CHECK(std::all_of(shape.points.begin(), shape.points.end(),
                      [](const CurvePoint& p) { return p.x <= 1 && p.y >= 0 && p.y <= 1; }));
  }
}

TEST_CASE("a shape is drawn in as many letters as asked for, and no two look alike") {
  std::set<std::vector<std::string>> drawn;
  for (const CurveShape& shape : curve_shapes()) {
    const std::vector<std::string> lines = curve_lines(shape, 22, 5);
    CHECK(lines.size() == 5);
    for (const std::string& line : lines) CHECK(letters(line) == 22);
    drawn.insert(lines);
  }
  CHECK(drawn.size() == curve_shapes().size());
  CHECK(curve_lines(usual_curve(), 0, 0).size() == 2);  // never less than can be drawn
}
