// What plots are made of: colours, marks, decimation, smoothing, maps.
#include <algorithm>
#include <cmath>
#include <random>

#include "draw/chart.h"
#include "draw/colour.h"
#include "draw/field_map.h"
#include "draw/svg_canvas.h"
#include "plot/band.h"
#include "plot/decimate.h"
#include "plot/plot.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// A curve with one value a row, at x = 0, 1, 2, ...
struct Line {
  Series places;
  Curve curve;
  void add(double y) {
    places.push(static_cast<double>(places.size()));
    curve.push(places.size() - 1, y);
  }
};

}  // namespace

TEST_CASE("Texts, series and stages can be read on their ground in both themes") {
  for (const bool dark : {true, false}) {
    const Theme& t = theme_of(dark);
    for (const Colour colour : {t.text, t.dim}) {
      CHECK(contrast(colour, t.panel) >= 4.5);
      CHECK(contrast(colour, t.ground) >= 4.5);
    }
    for (const Colour colour : {t.good, t.bad, t.warn}) CHECK(contrast(colour, t.panel) >= 4.5);
    for (const Colour colour : t.series) CHECK(contrast(colour, t.panel) >= 3.0);
    for (const Colour colour : t.stages) CHECK(contrast(colour, t.panel) >= 3.0);
    CHECK(contrast(t.text, t.selected) >= 4.5);
    for (const Colour colour : {t.code.keyword, t.code.string, t.code.comment, t.code.call}) {
      CHECK(contrast(colour, t.panel) >= 4.5);
    }
  }
  CHECK(contrast(rgb(0xffffff), rgb(0x000000)) == Approx(21));
}

TEST_CASE("Marks stand at 1, 2 or 5 times a power of ten and are labelled alike") {
  const auto labels = [](Axis axis) {
    std::string out;
    for (const Tick& tick : ticks(axis, 80))
      out += (out.empty() ? "" : " ") + (tick.label.empty() ? "." : tick.label);
    return out;
  };
  CHECK(labels({0, 1000, false, true, 0, 400}) == "0 200 400 600 800 1000");
  CHECK(labels({0, 1, false, true, 0, 400}) == "0 1");
  CHECK(labels({0, 0.001, false, false, 0, 200}) == "0.0000 0.0005 0.0010");
  CHECK(labels({0, 20000, false, false, 0, 200}) == "0 10 k 20 k");
  CHECK(labels({-1, 1, false, false, 0, 200}) == "-1 0 1");
  CHECK(labels({1, 1000, true, false, 0, 300}).rfind("1 ", 0) == 0);
  for (const Axis bad : {Axis{1, 1, false, false, 0, 10}, Axis{NAN, 1, false, false, 0, 10},
                         Axis{0, INFINITY, false, false, 0, 10}}) {
    CHECK(ticks(bad, 80).empty());
  }
  CHECK(engineering(12400) == "12.4 k");
  CHECK(engineering(0.0000031) == "3.1 µ");
  CHECK(engineering(NAN) == "nan");
  CHECK(engineering(-INFINITY) == "-inf");
  CHECK(engineering(1e300) == "1e+300");
  CHECK(clock_text(3725) == "1:02:05");
  CHECK(clock_text(65) == "1:05");
}

TEST_CASE("An axis maps there and back, also logarithmically") {
  for (const bool log : {false, true}) {
    const Axis axis{0.5, 2000, log, false, 100, 700};
    for (const double value : {0.5, 1.0, 33.0, 1999.0})
      CHECK(axis.value(axis.pixel(value)) == Approx(value).epsilon(1e-3));
  }
  CHECK(Axis{1, 10, true, false, 0, 100}.pixel(-5) < -1000);
}

TEST_CASE("Decimation keeps the least and the greatest value of each pixel column") {
  std::mt19937 random(7);
  Line line;
  std::normal_distribution<double> noise;
  for (int i = 0; i < 200'000; ++i) line.add(noise(random));
  const Axis x{0, 200'000, false, false, 0, 500};
  const Axis y{-10, 10, false, false, 300, 0};
  const PlotPath path = decimate(line.places, line.curve, x, y);
  CHECK(path.strokes.size() <= 502);
  for (int column = 0; column < 500; column += 7) {
    double least = 1e9;
    double most = -1e9;
    for (std::size_t i = 0; i < line.places.size(); ++i) {
      const double value = line.curve.y[i];
      const auto at = x.value(static_cast<float>(column));
      const auto next = x.value(static_cast<float>(column + 1));
      if (line.places[i] < at || line.places[i] >= next) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const PlotStroke* found = nullptr;
    for (const PlotStroke& stroke : path.strokes) {
      if (std::fabs(stroke.x - (static_cast<float>(column) + 0.5F)) < 0.1F) found = &stroke;
    }
    REQUIRE(found != nullptr);
    CHECK(found->y1 == Approx(y.pixel(least)).margin(1e-3));
    CHECK(found->y0 == Approx(y.pixel(most)).margin(1e-3));
  }
}

TEST_CASE("What is not finite is a gap with a mark, never a line across") {
  Line line;
  for (int i = 0; i < 10; ++i) line.add(i == 4 ? NAN : i == 7 ? INFINITY : 1.0);
  const PlotPath path =
      decimate(line.places, line.curve, {0, 9, false, false, 0, 900}, {0, 2, false, false, 100, 0});
  REQUIRE(path.stretches.size() == 3);
  CHECK(path.stretches[0].size() == 4);
  CHECK(path.not_finite.size() == 2);
  Line nothing;
  CHECK(decimate(nothing.places, nothing.curve, {}, {}).points == 0);
  CHECK(extent_between(line.places, line.curve, 3, 5, false).finite == 2);
}

TEST_CASE("Smoothing is the debiased moving average, and goes on where it stopped") {
  Line line;
  Smoother smoother;
  double sum = 0;
  double norm = 1;
  for (int i = 0; i < 500; ++i) {
    line.add(std::sin(i * 0.1) + (i == 100 ? NAN : 0));
    const Curve& soft = smoother.smoothed("a", line.curve, 0.9);
    REQUIRE(soft.y.size() == line.curve.y.size());
    if (i == 100) {
      CHECK(std::isnan(soft.y[100]));
      continue;
    }
    sum = 0.9 * sum + 0.1 * std::sin(i * 0.1);
    norm *= 0.9;
    CHECK(soft.y[static_cast<std::size_t>(i)] == Approx(sum / (1 - norm)));
  }
  CHECK(smoother.smoothed("a", line.curve, 0.9).y[0] == Approx(line.curve.y[0]));
  CHECK(smoother.smoothed("a", line.curve, 0.0).y[7] == Approx(line.curve.y[7]));
}

TEST_CASE("A map has one pixel a value, grey where there is none, and its ends are the ends of the colours") {
  const std::vector<float> values = {0, 1, NAN, 0.5F};
  const auto picture = draw_map(values, 2, 2, 0, 1, MapColours::sequential);
  const auto at = [&](std::size_t i) {
    const std::uint8_t* const p = &picture->rgba[4 * i];
    return rgb(static_cast<std::uint32_t>(p[0] << 16 | p[1] << 8 | p[2]));
  };
  CHECK(at(0) == map_colour(MapColours::sequential, 0));
  CHECK(at(1) == map_colour(MapColours::sequential, 1));
  CHECK(at(2) == rgb(0x808080));
  CHECK(map_colour(MapColours::diverging, 0.5) == rgb(0xf7f7f7));
}

TEST_CASE("Limits that ease come to rest where they are wanted, whatever the way") {
  for (const bool log : {false, true}) {
    PlotView view;
    view.log_y = log;
    view.want.least = 1;
    view.want.most = 2;
    view.ease_y(0.3F);
    CHECK(std::pair(view.y.least, view.y.most) == std::pair(1.0, 2.0));  // the first time they jump
    view.want.least = 3;
    view.want.most = 40;
    view.ease_y(0.3F);
    CHECK(view.is_easing());
    for (int frame = 0; frame < 100 && view.is_easing(); ++frame) view.ease_y(0.3F);
    CHECK(std::pair(view.y.least, view.y.most) == std::pair(3.0, 40.0));
  }
}

TEST_CASE("The end of the x axis is always named, and a round number that is too near to it is not") {
  const auto labels_of = [](Axis axis, const XMarks& marks) {
    axis.begin = 40;
    axis.end = 240;
    SvgCanvas canvas(260, 100, theme_of(true).panel);
    paint_x_marks(canvas, theme_of(true), marks, axis, {40, 10, 240, 60});
    std::vector<std::string> out;
    const std::string svg = canvas.text();
    for (std::size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
      const std::size_t begin = svg.find('>', at) + 1;
      out.push_back(svg.substr(begin, svg.find('<', begin) - begin));
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  using Labels = std::vector<std::string>;
  const Axis steps = {.least = 0, .most = 119, .whole = true};
  CHECK(labels_of(steps, {"step"}) == Labels{"0", "100", "119", "50", "step"});
  CHECK(labels_of({.least = 0, .most = 104, .whole = true}, {"step"}) == Labels{"0", "104", "50", "step"});
  CHECK(labels_of({.least = 0, .most = 150.7, .whole = true}, {"step"}) ==
        Labels{"0", "100", "150", "50", "step"});
  CHECK(labels_of({.least = 0, .most = 125}, {"time", true}) == Labels{"0", "1:40", "2:05", "50 s", "time"});
  CHECK(labels_of(steps, {"ranks", false, {1, 64}}) == Labels{"1", "64", "ranks"});
}

TEST_CASE("The words of a level stand where they cover no line") {
  PlotSpec spec;
  spec.levels.push_back({.label = "persistence", .value = 0.34, .colour = rgb(0x808080)});
  spec.from_zero = true;
  PlotLink link;
  link.x.most = 100;
  const auto place_of = [&](std::vector<std::pair<double, double>> points) {
    spec.lines = {line_of("forecast", rgb(0xff0000), points)};
    SvgCanvas canvas(400, 300, rgb(0));
    paint_whole(canvas, theme_of(true), spec, {}, link, {0, 0, 400, 300});
    const std::string svg = canvas.text();
    const std::size_t words = svg.find(">persistence 0.34<");
    REQUIRE(words != std::string::npos);
    const std::size_t begin = svg.rfind("<text x=\"", words);
    const auto number = [&](const std::string& key) {
      return std::stod(svg.substr(svg.find(key, begin) + key.size()));
    };
    return std::pair(number("x=\""), number(" y=\""));
  };
  const auto away = place_of({{0, 1}, {20, 0.9}, {100, 0.9}});
  CHECK(away.first > 200);  // right, above its level
  const auto above = place_of({{0, 1}, {40, 0.38}, {100, 0.38}});
  CHECK(above.first > 200);
  CHECK(above.second > away.second + 10);  // below it, since the line ends just above
  const auto both = place_of({{0, 0.5}, {70, 0.38}, {80, 0.30}, {90, 0.38}, {100, 0.30}});
  CHECK(both.first < 200);  // left
}
