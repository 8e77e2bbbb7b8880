// Medians with the spread around them, and the area that shows it.
#include <algorithm>
#include <cmath>
#include <random>

#include "draw/svg_canvas.h"
#include "plot/band.h"
#include "support/catch.h"

using namespace isobar;

namespace {

Curve curve_of(const std::vector<double>& values) {
  Curve out;
  for (std::size_t i = 0; i < values.size(); ++i) out.push(i, values[i]);
  return out;
}

/// As plainly as it can be said: sorts each window anew.
double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

}  // namespace

TEST_CASE("A band has the median and the tenth and ninetieth percentile of the last rows") {
  Bands bands;
  std::vector<double> values;
  for (int i = 0; i <= 10; ++i) values.push_back(10.0 * ((i * 7) % 11));  // 0 to 100 in some order
  const auto band = bands.of("known", curve_of(values), 11);
  REQUIRE(band->median.y.size() == 11);
  CHECK(band->median.y[10] == 50);
  CHECK(band->low.y[10] == 10);
  CHECK(band->high.y[10] == 90);
  CHECK(band->median.y[0] == 0);  // of one value
  CHECK(band->high.y[0] == 0);
  CHECK(band->median.y[1] == 35);  // of 0 and 70
  CHECK(band->low.y[1] == Approx(7));
}

TEST_CASE("The window slides, and goes on where it stopped") {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(100, 20);
  std::vector<double> values;
  Bands bands;
  std::shared_ptr<const Band> band;
  for (std::size_t i = 0; i < 300; ++i) {
    values.push_back(i % 40 == 7 ? values.back() : noise(random));  // equal values too
    band = bands.of("a", curve_of(values));
    REQUIRE(band->median.y.size() == values.size());
    const std::vector<double> last(
        values.end() - static_cast<std::ptrdiff_t>(std::min(kBandRows, values.size())), values.end());
    CHECK(band->median.y[i] == Approx(quantile_of(last, 0.5)));
    CHECK(band->low.y[i] == Approx(quantile_of(last, 0.1)));
    CHECK(band->high.y[i] == Approx(quantile_of(last, 0.9)));
  }
  const std::vector<double> others = {1, 2, 3};
  CHECK(bands.of("a", curve_of(others))->median.y.size() == 3);  // another curve under this name
  CHECK(bands.of("a", curve_of(others))->median.y[2] == 2);
}

TEST_CASE("What was not measured is a gap in the band, and counts for nothing") {
  Curve curve;
  for (const std::size_t row : {0U, 1U, 2U, 10U, 11U})
    curve.push(row, row == 1 ? NAN : 4.0 + static_cast<double>(row));
  Bands bands;
  const auto band = bands.of("a", curve, 3);
  CHECK(std::isnan(band->median.y[1]));
  CHECK(std::isnan(band->low.y[1]));
  CHECK(band->median.y[2] == 5);   // of 4 and 6
  CHECK(band->median.y[3] == 14);  // rows 0 to 2 are too old for it
  Series places;
  for (int i = 0; i < 12; ++i) places.push(i);
  const auto stretches = decimate_band(places, band->low, band->high, {0, 11, false, false, 0, 110},
                                       {0, 20, false, false, 200, 0});
  REQUIRE(stretches.size() == 2);
  CHECK(stretches[0].size() == 1);
  CHECK(stretches[1].size() == 3);
  CHECK(stretches[1].back().x == Approx(110));
}

TEST_CASE(
    "A band of many values keeps what is least and greatest in each pixel column, and ends with the plot") {
  Series places;
  Curve low, high;
  for (std::size_t i = 0; i < 100'000; ++i) {
    places.push(static_cast<double>(i));
    low.push(i, i == 50'017 ? -7 : 1);
    high.push(i, i == 50'017 ? 9 : 2);
  }
  const Axis y{-10, 10, false, false, 200, 0};
  const auto all = decimate_band(places, low, high, {0, 100'000, false, false, 0, 500}, y);
  REQUIRE(all.size() == 1);
  CHECK(all[0].size() <= 501);
  const auto peak =
      std::max_element(all[0].begin(), all[0].end(), [](auto& a, auto& b) { return a.low < b.low; });
  CHECK(peak->low == Approx(y.pixel(-7)));
  CHECK(peak->high == Approx(y.pixel(9)));
  CHECK(std::floor(peak->x) == 250);
  const auto near = decimate_band(places, low, high, {70'000.2, 70'000.4, false, false, 0, 500}, y);
  REQUIRE(near.size() == 1);
  CHECK(near[0].front().x == Approx(0));
  CHECK(near[0].back().x == Approx(500));
}

TEST_CASE("A plot draws the band around the median, in the colour of the line, and writes it as a table") {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < 60; ++i) points.emplace_back(i, i % 2 == 0 ? 80 : 120);
  Bands bands;
  PlotSpec spec;
  spec.lines.push_back(line_of("rate", 0xff0000ffU, points));
  show_as_band(spec.lines[0], bands);
  PlotLink link;
  link.smoothing = 0.9;  // a median is smooth already
  link.x.most = 59;
  SvgCanvas canvas(400, 200, 0xff000000U);
  paint_whole(canvas, theme_of(true), spec, {}, link, {0, 0, 400, 200});
  const std::string svg = canvas.text();
  CHECK(svg.find("<polygon") != std::string::npos);
  CHECK(svg.find("fill=\"#ff0000\" fill-opacity=\"0.18\"") != std::string::npos);
  CHECK(svg.find("stroke-opacity") == std::string::npos);
  const std::string csv = plot_csv(spec, {});
  CHECK(csv.find("\"rate\",59,") != std::string::npos);
  CHECK(csv.find("\"rate, p10\",59,80") != std::string::npos);
  CHECK(csv.find("\"rate, p90\",59,120") != std::string::npos);
  PlotLine nothing;
  show_as_band(nothing, bands);
  CHECK(nothing.low == nullptr);
}
