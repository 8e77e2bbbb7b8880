#include "draw/type_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/chart.h"

namespace isobar {
namespace {

/// IEEE 754 and its kin: normal numbers from 2^least to below 2^(most + 1), fewer digits down to 2^subnormal.
struct NumberType {
  const char* name;
  const char* bits;
  int subnormal, least, most;
};
constexpr std::array<NumberType, 4> kNumberTypes = {
    {{"fp32", "8 + 23 bits", -149, -126, 127},
     {"tf32", "8 + 10 bits", -136, -126, 127},
     {"bf16", "8 + 7 bits", -133, -126, 127},
     {"fp16", "5 + 10 bits", kHalfSubnormal, kHalfNormal, kHalfTooLarge - 1}}};
constexpr double kLeastPower = -150, kMostPower = 130;
constexpr float kTypeRow = 38, kTypeBar = 22;

double share_at(const GradientHistogram& gradients, int exponent) {
  return 100.0 * static_cast<double>(gradients.at(exponent)) /
         static_cast<double>(std::max<std::int64_t>(1, gradients.values()));
}

double most_share(const GradientHistogram& gradients) {
  double out = 0;
  for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e)
    out = std::max(out, share_at(gradients, e));
  return out;
}

/// The upper edge of the bars, `shift` powers to the left.
std::vector<PlotPoint> histogram_edge(const GradientHistogram& gradients, const ChartArea& area,
                                      double shift) {
  std::vector<PlotPoint> out;
  for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e) {
    const double share = share_at(gradients, e);
    const bool beside = share > 0 || (!out.empty() && share_at(gradients, e - 1) > 0);
    if (!beside && out.empty()) continue;
    if (out.empty()) out.push_back(area.at(e - shift, 0));
    out.push_back(area.at(e - shift, share));
    out.push_back(area.at(e + 1 - shift, share));
  }
  while (out.size() > 2 && out[out.size() - 2].y >= area.box.y1 - 0.01F &&
         out[out.size() - 3].y >= area.box.y1 - 0.01F)
    out.resize(out.size() - 2);
  return out;
}

void paint_histogram(Sketch& sketch, const GradientHistogram& gradients, const ChartArea& area) {
  const Theme& theme = sketch.theme();
  const double shift = std::log2(gradients.scale);
  sketch.canvas().push_clip(area.box);
  for (int e = GradientHistogram::kLeast; e <= GradientHistogram::kMost; ++e) {
    if (gradients.at(e) == 0) continue;
    const PlotPoint low = area.at(e - shift, 0), high = area.at(e + 1 - shift, share_at(gradients, e));
    sketch.canvas().fill({low.x, high.y, high.x, low.y}, theme.series[6]);
  }
  if (gradients.scale != 1)
    sketch.canvas().line(histogram_edge(gradients, area, 0), theme.series[4], sketch.px(2), Dash::solid);
  sketch.canvas().pop_clip();
}

void paint_type_row(Sketch& sketch, const NumberType& type, const Axis& x, float left, float y) {
  const Theme& theme = sketch.theme();
  sketch.canvas().text(left, y, type.name, Face::bold, theme.text);
  sketch.canvas().text(left, y + sketch.px(16), type.bits, Face::small, theme.dim);
  const float top = y + sketch.px(5), bottom = top + sketch.px(kTypeBar);
  sketch.area({x.pixel(type.least), top, x.pixel(type.most + 1), bottom}, theme.series[2]);
  sketch.pale({x.pixel(type.subnormal), top, x.pixel(type.least), bottom}, theme.series[2], Hatch::rising);
}

float paint_ranges_legend(Sketch& sketch, const GradientHistogram& gradients, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  std::vector<LegendEntry> legend = {
      {"gradients", theme.series[6]},
      {"all digits", theme.series[2]},
      {"fewer digits (subnormal)", mixed(theme.panel, theme.series[2], 0.22F), Hatch::rising}};
  if (gradients.scale != 1)
    legend.push_back(
        {.words = fmt::format("the same gradients times the loss scale, {:.0f}", gradients.scale),
         .colour = theme.series[4],
         .line = Dash::solid});
  return sketch.legend(at, width, legend);
}

}  // namespace

float paint_type_ranges(Sketch& sketch, const GradientHistogram& gradients, PlotPoint at, float width) {
  const Theme& theme = sketch.theme();
  ChartSpec spec;
  spec.x = {.least = kLeastPower, .most = kMostPower, .whole = true};
  spec.y = {.least = 0, .most = std::max(1.0, 1.15 * most_share(gradients))};
  spec.x_title = "e, of sizes from 2^e to below 2^(e+1)";
  spec.y_title = "share of the gradients in %";
  spec.height = 120;
  spec.left = sketch.px(84);
  const ChartArea area = paint_chart(sketch, spec, at, width);
  paint_histogram(sketch, gradients, area);
  float y = area.end + sketch.px(10);
  const float bottom = y + sketch.px(kTypeRow) * static_cast<float>(kNumberTypes.size());
  for (const int power : {kHalfSubnormal, kHalfNormal, kHalfTooLarge}) {
    const float x = area.x.pixel(power);
    sketch.line({x, area.box.y0}, {x, area.box.y1}, theme.dim, 1, Dash::dashed);
    sketch.line({x, y}, {x, bottom}, theme.dim, 1, Dash::dashed);
  }
  for (const NumberType& type : kNumberTypes) {
    paint_type_row(sketch, type, area.x, at.x, y);
    y += sketch.px(kTypeRow);
  }
  return paint_ranges_legend(sketch, gradients, {at.x, bottom + sketch.px(8)}, width);
}

}  // namespace isobar
