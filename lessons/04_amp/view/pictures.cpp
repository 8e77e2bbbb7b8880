// Pictures: what types can hold, and how much work computes for each byte; and a run's gradients over the
// ranges of types.
#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "draw/lesson_view.h"
#include "draw/roofline.h"
#include "draw/type_ranges.h"
#include "formula/device_rates.h"
#include "log/gradient_histograms.h"

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
