// Lines that lie on each other: each is seen, and together they are whole.
#include <cmath>
#include <map>

#include "draw/colour.h"
#include "draw/svg_canvas.h"
#include "plot/plot.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// Which of the pixels along x are drawn in which colour.
class ColumnCanvas : public SvgCanvas {
 public:
  ColumnCanvas() : SvgCanvas(600, 300, rgb(0)) {}
  void line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) override {
    if (!in_lines) return SvgCanvas::line(points, colour, width, dash);
    dashes[colour] = dash;
    for (std::size_t i = 1; i < points.size(); ++i) cover(points[i - 1].x, points[i].x, colour);
  }
  void fill(const Box& box, Colour colour, float rounding) override {
    if (!in_lines) return SvgCanvas::fill(box, colour, rounding);
    const float middle = (box.x0 + box.x1) / 2;  // a column with many values
    cover(middle - 0.5F, middle + 0.5F, colour);
  }

  std::map<Colour, std::set<int>> columns;
  std::map<Colour, Dash> dashes;
  bool in_lines = true;

 private:
  void cover(float begin, float end, Colour colour) {
    for (int x = static_cast<int>(std::ceil(begin - 0.5F)); static_cast<float>(x) + 0.5F <= end; ++x)
      columns[colour].insert(x);
  }
};

std::vector<PlotLine> lines_of(const std::vector<Colour>& colours, int points) {
  std::vector<std::pair<double, double>> values;
  for (int i = 0; i < points; ++i) values.emplace_back(i, std::sin(i * 0.05));
  std::vector<PlotLine> out;
  for (const Colour colour : colours) {
    out.push_back(line_of("run " + std::to_string(out.size()), colour, values));
    out.back().mark = Mark::none;
  }
  return out;
}

/// Draws only the lines, over 0 to `most`.
ColumnCanvas painted(const std::vector<PlotLine>& lines, double most,
                     const std::set<std::string>& hidden = {}) {
  PlotSpec spec;
  spec.lines = lines;
  PlotView view;
  view.hidden = hidden;
  PlotLink link;
  PlotLayout at;
  at.area = {50, 20, 590, 280};
  at.x = {0, most, false, false, 50, 590};
  at.y = {-1, 1, false, false, 280, 20};
  ColumnCanvas canvas;
  Smoother smoother;
  paint_lines(canvas, spec, view, link, at, smoother);
  return canvas;
}

std::vector<PlotLine> with_groups(std::vector<PlotLine> lines) {
  const std::vector<std::size_t> groups = equal_lines(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].equals = groups[i];
  return lines;
}

}  // namespace

TEST_CASE("Of three lines that lie on each other each is a third of what is drawn, and no colour hides one") {
  const std::vector<Colour> colours = {rgb(0xff0000), rgb(0x00ff00), rgb(0x0000ff)};
  for (const int points : {5, 300, 100'000}) {
    CAPTURE(points);
    const ColumnCanvas alone = painted(lines_of({colours[0]}, points), points - 1);
    const ColumnCanvas all = painted(with_groups(lines_of(colours, points)), points - 1);
    const std::size_t whole = alone.columns.at(colours[0]).size();
    CHECK(whole >= 538);
    std::set<int> together;
    std::size_t sum = 0;
    for (const Colour colour : colours) {
      const std::set<int>& mine = all.columns.at(colour);
      CHECK(std::abs(static_cast<double>(mine.size()) - static_cast<double>(whole) / 3) <= kTurnWidth);
      together.insert(mine.begin(), mine.end());
      sum += mine.size();
    }
    CHECK(together.size() + 2 >= whole);
    CHECK(sum <= together.size() + 40);  // at most the pixel in which one ends and the next begins
  }
}

TEST_CASE("A line that is hidden leaves its pieces to the others, and a dashed one stays dashed") {
  const std::vector<Colour> colours = {rgb(0xff0000), rgb(0x00ff00), rgb(0x0000ff)};
  std::vector<PlotLine> lines = with_groups(lines_of(colours, 300));
  lines[2].dash = Dash::dashed;
  const ColumnCanvas two = painted(lines, 299, {"run 0"});
  CHECK(two.columns.count(colours[0]) == 0);
  CHECK(two.columns.at(colours[1]).size() + two.columns.at(colours[2]).size() >= 538);
  CHECK(two.dashes.at(colours[1]) == Dash::solid);
  CHECK(two.dashes.at(colours[2]) == Dash::dashed);
  const ColumnCanvas one = painted(lines, 299, {"run 0", "run 2"});
  CHECK(one.columns.at(colours[1]).size() >= 538);
}

TEST_CASE("Only lines that are the same to the last bit take turns") {
  std::vector<PlotLine> lines = lines_of({1, 2, 3}, 50);
  std::vector<std::pair<double, double>> values;
  for (int i = 0; i < 50; ++i) values.emplace_back(i, std::sin(i * 0.05) * (i == 20 ? 1 + 1e-15 : 1));
  lines.push_back(line_of("a bit off", 4, values));
  lines.push_back(line_of("as that", 5, values));
  for (auto& [x, y] : values) x += 1;
  lines.push_back(line_of("elsewhere", 6, values));
  lines.emplace_back();
  lines.emplace_back();
  CHECK(equal_lines(lines) == std::vector<std::size_t>{1, 1, 1, 2, 2, 0, 0, 0});
  const std::vector<std::pair<double, double>> gaps = {{0, 1}, {1, NAN}, {2, 3}};
  CHECK(equal_lines({line_of("a", 1, gaps), line_of("b", 2, gaps)}) == std::vector<std::size_t>{1, 1});
}

TEST_CASE("Turns end with the plot, however far the points of a line lie outside") {
  const PlotPath path = {{{{-1e9F, 0}, {1e9F, 100}}, {{700, 5}, {800, 5}}}, {}, {3, 9, 27}, 4};
  const PlotPath mine = turn_of(path, {1, 2}, {0, 560, 14});
  REQUIRE(!mine.stretches.empty());
  CHECK(mine.stretches.size() <= 22);
  for (const auto& stretch : mine.stretches) {
    CHECK(stretch.front().x >= -14);
    CHECK(stretch.back().x <= 574);
    CHECK(stretch.back().x - stretch.front().x <= 14.1F);
  }
  CHECK(mine.not_finite == std::vector<float>{9});
  CHECK(turn_of(path, {0, 1}, {0, 560, 14}).stretches.size() == 2);
}

TEST_CASE("A score that three runs share is marked in rings of all their colours") {
  const std::vector<PlotLine> lines = with_groups(lines_of({rgb(0xff0000), rgb(0x00ff00), rgb(0x0000ff)}, 2));
  std::vector<PlotLine> round = lines;
  for (PlotLine& line : round) line.mark = Mark::circle;
  const std::string svg = painted(round, 1).text();
  for (const char* const colour : {"#ff0000", "#00ff00", "#0000ff"}) {
    CAPTURE(svg);
    CHECK(svg.find(std::string("fill=\"") + colour) != std::string::npos);
  }
  CHECK(svg.find("r=\"6.4\"") < svg.find("r=\"4.6\""));  // the widest lies below
  CHECK(svg.find("r=\"4.6\"") < svg.find("r=\"2.8\""));
}
