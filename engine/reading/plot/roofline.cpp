#include "plot/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "draw/chart.h"
#include "plot/lesson_view.h"

namespace isobar {
namespace {

constexpr std::array<Dash, 3> kRoofDashes = {Dash::solid, Dash::dashed, Dash::dotted};

double floor_decade(double value) { return std::pow(10, std::floor(std::log10(value))); }
double ceil_decade(double value) { return std::pow(10, std::ceil(std::log10(value) + 0.05)); }

ChartSpec roofline_chart(const RooflineChart& roofline) {
  double least_x = 0.1, most_x = 10000, least_y = 1e15, most_y = 1;
  for (const RoofPoint& point : roofline.points) {
    least_x = std::min(least_x, floor_decade(point.flops_per_byte));
    most_x = std::max(most_x, ceil_decade(point.flops_per_byte));
    least_y = std::min(least_y, point.flops_per_s);
    most_y = std::max(most_y, point.flops_per_s);
  }
  for (const Roof& roof : roofline.roofs) most_y = std::max(most_y, roof.flops_per_s);
  if (roofline.bytes_per_s > 0) least_y = std::min(least_y, roofline.bytes_per_s * least_x);
  ChartSpec out;
  out.x = {.least = least_x, .most = most_x, .log = true};
  out.y = {.least = floor_decade(std::min(least_y, most_y)), .most = ceil_decade(most_y), .log = true};
  out.x_title = "FLOP for each byte moved (logarithmic)";
  out.y_title = "FLOP/s (logarithmic)";
  return out;
}

std::vector<Box> paint_roofs(Sketch& sketch, const RooflineChart& roofline, const ChartArea& area) {
  std::vector<Box> names;
  const Theme& theme = sketch.theme();
  const double least = area.x.least, most = area.x.most;
  for (std::size_t i = 0; i < roofline.roofs.size(); ++i) {
    const Roof& roof = roofline.roofs[i];
    const double ridge = roofline.bytes_per_s > 0 ? roof.flops_per_s / roofline.bytes_per_s : least;
    const PlotPoint from = area.at(std::max(least, ridge), roof.flops_per_s),
                    to = area.at(most, roof.flops_per_s);
    sketch.line(from, to, theme.text, 2, kRoofDashes[i % kRoofDashes.size()]);
    const std::string words = fmt::format("{}: {}", roof.name, human_flops(roof.flops_per_s));
    const bool is_close = i > 0 && area.y.pixel(roofline.roofs[i - 1].flops_per_s) > to.y - sketch.px(34);
    const PlotPoint end = {to.x - sketch.px(4), to.y + sketch.px(is_close ? 3 : -18)};
    sketch.canvas().text(end.x, end.y, words, Face::small, theme.text, 1);
    names.push_back({end.x - sketch.text_width(words), end.y, end.x, end.y + sketch.px(16)});
  }
  return names;
}

void paint_bandwidth(Sketch& sketch, const RooflineChart& roofline, const ChartArea& area) {
  const double least = area.x.least, most = area.x.most;
  double highest = 0;
  for (const Roof& roof : roofline.roofs) highest = std::max(highest, roof.flops_per_s);
  if (!(roofline.bytes_per_s > 0)) return;
  const double meets = (highest > 0 ? highest : area.y.most) / roofline.bytes_per_s,
               top = std::min(meets, most);
  if (!(top > least)) return;
  sketch.line(area.at(least, roofline.bytes_per_s * least), area.at(top, roofline.bytes_per_s * top),
              sketch.theme().text, 2);
  const std::string words = fmt::format("memory: {:.4g} GB/s", roofline.bytes_per_s * 1e-9);
  const double middle = std::sqrt(least * top);
  const PlotPoint place = area.at(middle, roofline.bytes_per_s * middle);
  const float wide = sketch.text_width(words) + sketch.px(12);
  const bool has_room = place.x - wide > area.box.x0 + sketch.px(4);
  sketch.canvas().text(place.x + (has_room ? -sketch.px(12) : sketch.px(12)),
                       place.y - sketch.px(has_room ? 14 : -2), words, Face::small, sketch.theme().text,
                       has_room ? 1 : 0);
}

/// Where the number of each point stands: on it, or beside those that lie there already, below the names of
/// roofs.
std::vector<PlotPoint> number_places(Sketch& sketch, const RooflineChart& roofline, const ChartArea& area,
                                     const std::vector<Box>& names) {
  const float radius = sketch.px(9);
  std::vector<PlotPoint> out;
  for (const RoofPoint& point : roofline.points) {
    PlotPoint place = area.at(point.flops_per_byte, point.flops_per_s);
    const auto covers = [&](const PlotPoint& other) {
      return std::hypot(other.x - place.x, other.y - place.y) < sketch.px(19);
    };
    const auto is_covered = [&](const Box& name) {
      return place.x + radius > name.x0 - radius && place.x < name.x1 && place.y + radius > name.y0 &&
             place.y - radius < name.y1;
    };
    while (std::ranges::any_of(names, is_covered)) place.y += sketch.px(4);
    while (std::ranges::any_of(out, covers)) place.x += sketch.px(6);
    out.push_back(place);
  }
  return out;
}

std::string intensity_words(double flops_per_byte) {
  return flops_per_byte < 1000 ? fmt::format("{:.3g}", flops_per_byte)
                               : fmt::format("{:.0f}", flops_per_byte);
}

float paint_roof_points(Sketch& sketch, const RooflineChart& roofline, const ChartArea& area,
                        const std::vector<Box>& names, PlotPoint at, float width) {
  const std::vector<PlotPoint> places = number_places(sketch, roofline, area, names);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const RoofPoint& point = roofline.points[i];
    const PlotPoint true_place = area.at(point.flops_per_byte, point.flops_per_s);
    sketch.line(true_place, places[i], sketch.theme().accent);
    sketch.mark(true_place, Mark::circle, sketch.theme().accent, 3);
    paint_number(sketch, places[i], i + 1);
    paint_number(sketch, {at.x + sketch.px(9), at.y + sketch.px(9)}, i + 1);
    const std::string words =
        fmt::format("{}: {} FLOP a byte, {}", point.name, intensity_words(point.flops_per_byte),
                    human_flops(point.flops_per_s));
    at.y = sketch.words({at.x + sketch.px(26), at.y + sketch.px(1)}, width - sketch.px(26), words) +
           sketch.px(5);
  }
  return at.y;
}

}  // namespace

RoofPoint point_below(std::string name, double flops_per_byte, double peak) {
  return {std::move(name), flops_per_byte, std::min(peak, kA100BytesPerS * flops_per_byte)};
}

double product_intensity(double columns, double bytes) {
  const auto rows = static_cast<double>(kBaseBatch * kBaseShape.tokens()),
             e = static_cast<double>(kBaseShape.embed);
  return 2 * rows * e * columns * e / (bytes * (rows * e + e * columns * e + rows * columns * e));
}

float paint_roofline(Sketch& sketch, const RooflineChart& roofline, PlotPoint at, float width) {
  const ChartArea area = paint_chart(sketch, roofline_chart(roofline), at, width);
  const std::vector<Box> names = paint_roofs(sketch, roofline, area);
  paint_bandwidth(sketch, roofline, area);
  return paint_roof_points(sketch, roofline, area, names, {at.x, area.end + sketch.px(8)}, width);
}

}  // namespace isobar
