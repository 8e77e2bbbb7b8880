#include "draw/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "draw/chart.h"

namespace isobar {
namespace {

constexpr std::array<Dash, 3> kRoofDashes = {Dash::solid, Dash::dashed, Dash::dotted};

double floor_decade(double value) { return std::pow(10, std::floor(std::log10(value))); }
double ceil_decade(double value) { return std::pow(10, std::ceil(std::log10(value) + 0.05)); }

ChartSpec roofline_chart(const Roofline& roofline) {
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

void paint_roofs(Sketch& sketch, const Roofline& roofline, const ChartArea& area) {
  const Theme& theme = sketch.theme();
  const double least = area.x.value(area.box.x0), most = area.x.value(area.box.x1);
  double highest = 0;
  for (std::size_t i = 0; i < roofline.roofs.size(); ++i) {
    const Roof& roof = roofline.roofs[i];
    const double ridge = roofline.bytes_per_s > 0 ? roof.flops_per_s / roofline.bytes_per_s : least;
    highest = std::max(highest, roof.flops_per_s);
    const PlotPoint from = area.at(std::max(least, ridge), roof.flops_per_s),
                    to = area.at(most, roof.flops_per_s);
    sketch.line(from, to, theme.text, 2, kRoofDashes[i % kRoofDashes.size()]);
    const std::string words = fmt::format("{}: {}", roof.name, human_flops(roof.flops_per_s));
    const bool is_close = i > 0 && area.y.pixel(roofline.roofs[i - 1].flops_per_s) > to.y - sketch.px(34);
    sketch.canvas().text(to.x - sketch.px(4), to.y + sketch.px(is_close ? 3 : -18), words, Face::small,
                         theme.text, 1);
  }
  if (!(roofline.bytes_per_s > 0)) return;
  const double top = highest > 0 ? highest / roofline.bytes_per_s : most;
  sketch.canvas().push_clip(area.box);
  sketch.line(area.at(least, roofline.bytes_per_s * least),
              area.at(std::min(top, most), roofline.bytes_per_s * std::min(top, most)), theme.text, 2);
  sketch.canvas().pop_clip();
  const std::string words =
      fmt::format("memory: {}/s", human_bytes(static_cast<std::uint64_t>(roofline.bytes_per_s)));
  const PlotPoint middle = area.at(std::sqrt(least * std::min(top, most)),
                                   roofline.bytes_per_s * std::sqrt(least * std::min(top, most)));
  const float left =
      std::max(area.box.x0 + sketch.px(4), middle.x - sketch.text_width(words) - sketch.px(12));
  sketch.canvas().text(left, middle.y - sketch.px(14), words, Face::small, theme.text);
}

float paint_roof_points(Sketch& sketch, const Roofline& roofline, const ChartArea& area, PlotPoint at,
                        float width) {
  const Theme& theme = sketch.theme();
  for (std::size_t i = 0; i < roofline.points.size(); ++i) {
    const RoofPoint& point = roofline.points[i];
    const PlotPoint place = area.at(point.flops_per_byte, point.flops_per_s);
    const std::string number = std::to_string(i + 1);
    sketch.canvas().circle(place, sketch.px(9), theme.accent, true);
    sketch.canvas().text(place.x, place.y - sketch.px(7), number, Face::small, theme.on_accent, 0.5F);
    const float line = sketch.px(9);
    sketch.canvas().circle({at.x + line, at.y + sketch.px(8)}, sketch.px(8), theme.accent, true);
    sketch.canvas().text(at.x + line, at.y + sketch.px(1), number, Face::small, theme.on_accent, 0.5F);
    at.y = sketch.words({at.x + sketch.px(26), at.y + sketch.px(1)}, width - sketch.px(26),
                        fmt::format("{}: {:.3g} FLOP a byte, {}", point.name, point.flops_per_byte,
                                    human_flops(point.flops_per_s))) +
           sketch.px(4);
  }
  return at.y;
}

}  // namespace

float paint_roofline(Sketch& sketch, const Roofline& roofline, PlotPoint at, float width) {
  const ChartArea area = paint_chart(sketch, roofline_chart(roofline), at, width);
  paint_roofs(sketch, roofline, area);
  return paint_roof_points(sketch, roofline, area, {at.x, area.end + sketch.px(8)}, width);
}

}  // namespace isobar
