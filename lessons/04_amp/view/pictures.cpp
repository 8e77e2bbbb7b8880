// Pictures: what types can hold, and how much work computes for each byte; and a run's gradients over the
// ranges of types.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "draw/chart.h"
#include "formula/device_rates.h"
#include "log/gradient_histograms.h"
#include "plot/lesson_view.h"
#include "plot/roofline.h"

namespace isobar::lesson_04 {
namespace {

float paint_types_roofline(Sketch& sketch, PlotPoint at, float width) {
  const DeviceRates& a100 = rates_of("A100");
  RooflineChart chart;
  chart.bytes_per_s = kA100BytesPerS;
  chart.roofs = {
      {"16 bits", a100.peak_16 * kTera}, {"TF32", a100.peak_tf32 * kTera}, {"fp32", a100.peak_fp32 * kTera}};
  chart.points = {
      point_below("residual addition, fp32", 1.0 / 12, a100.peak_fp32 * kTera),
      point_below("residual addition, 16 bits", 1.0 / 6, a100.peak_16 * kTera),
      point_below("first product of the MLP of base, fp32", product_intensity(4, 4), a100.peak_fp32 * kTera),
      point_below("the same product, 16 bits", product_intensity(4, 2), a100.peak_16 * kTera)};
  at.y = paint_roofline(sketch, chart, at, width);
  return sketch.words({at.x, at.y + sketch.px(2)}, width,
                      "Left of the bend memory is the limit, and half the bytes are twice the speed. Right "
                      "of it arithmetic is: a type with a higher roof is worth more there.");
}

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

/// The gradients of the histogram without the scale of the loss as areas; with it, where there is one, as an
/// outline. Gives the y where it ends.
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

/// As 04_amp recorded them: cpu_tiny, amp.mode = fp16, amp.histogram_every = 10, step 40, on a CPU.
GradientHistogram recorded_gradients() {
  static constexpr int kFirst = -24;
  static constexpr std::array<std::int64_t, 31> kCounts = {
      1,      1,      2,      3,     11,    27,    42,   77,   94,    94,    82,
      101,    168,    286,    585,   1237,  2484,  4936, 9993, 19977, 38740, 71609,
      114171, 138616, 114520, 87606, 72028, 29381, 2004, 65,   18};
  GradientHistogram out;
  out.step = 40;
  out.scale = 65536;
  out.zero = 1;
  for (std::size_t i = 0; i < kCounts.size(); ++i)
    out.counts[static_cast<std::size_t>(kFirst - GradientHistogram::kLeast) + i] = kCounts[i];
  return out;
}

float paint_idea_ranges(Sketch& sketch, PlotPoint at, float width) {
  at.y = paint_type_ranges(sketch, recorded_gradients(), at, width);
  return sketch.words({at.x, at.y + sketch.px(2)}, width,
                      "Bits: of the exponent + of the fraction. Dashed: where fp16 has fewer digits (2^-14), "
                      "nothing (2^-24), and infinity (2^16).",
                      {.colour = sketch.theme().dim});
}

OwnPicture own_gradients(const OwnRun& run) {
  std::vector<GradientHistogram> all;
  try {
    all = read_gradient_histograms(run.folder);
  } catch (const Error&) {  // it kept none, which is the default
    OwnPicture out = own_roofline(run);
    if (out.nothing.empty()) return out;
    return nothing_to_draw("the run kept no histograms of its gradients, and watched no operators",
                           "./isobar run 04_amp --set amp.histogram_every=10");
  }
  const GradientHistogram last = histogram_at(all, -1);
  return {{fmt::format("The gradients of this run in step {}", last.step), run.note,
           "A histogram of gradients by their power of two, and below it what fp32, tf32, bf16 and fp16 can "
           "hold.",
           [last](Sketch& sketch, PlotPoint at, float width) {
             return paint_type_ranges(sketch, last, at, width);
           }}};
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"What each type can hold, and where gradients lie",
        "gradients recorded in step 40 of 04_amp: cpu_tiny, fp16, on a CPU",
        "A histogram of gradients by their power of two, and below it a bar for each of fp32, tf32, bf16 "
        "and fp16 on the same axis. The bars of fp32, tf32 and bf16 reach from about 2^-126 to 2^128. That "
        "of fp16 reaches from 2^-14 to 2^16, with fewer digits down to 2^-24. The loss scale moves the "
        "histogram 16 powers to the right, into that range.",
        paint_idea_ranges}},
      {"roofline",
       {"Roofline of an A100-40GB",
        "by formula: min(peak, bandwidth x FLOP for each byte), with the figures of its data sheet",
        "FLOP per second over FLOP per byte, both logarithmic. A slope, the memory's bandwidth, meets "
        "three level roofs: 19.5 TFLOP/s in fp32, 156 in TF32, 312 in 16 bits. A residual addition lies "
        "far down on the slope; a matrix product lies under the roofs.",
        paint_types_roofline}}};
}

const AddLessonView kView{{"04_amp", pictures, own_gradients}};

}  // namespace
}  // namespace isobar::lesson_04
