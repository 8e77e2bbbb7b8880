// Lesson 04: what types can hold, and what they are worth.
#include <algorithm>
#include <array>
#include <cmath>

#include "draw/pictures/pictures.h"
#include "draw/roofline.h"
#include "draw/type_ranges.h"
#include "formula/device_rates.h"

namespace isobar {
namespace {

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
                      "nothing (2^-24), and "
                      "infinity (2^16).",
                      {.colour = sketch.theme().dim});
}

/// The first product of base's MLP, [R, E] x [E, 4E]: every operand moved once, `bytes` a value.
RoofPoint product_point(const char* name, double bytes, double peak, double bytes_per_s) {
  const auto rows = static_cast<double>(kBaseBatch * kBaseShape.tokens()),
             e = static_cast<double>(kBaseShape.embed);
  const double flop = 2 * rows * e * 4 * e, moved = bytes * (rows * e + e * 4 * e + rows * 4 * e);
  return {name, flop / moved, std::min(peak, bytes_per_s * flop / moved)};
}

/// A sum of two values: two are read and one is written.
RoofPoint sum_point(const char* name, double bytes, double bytes_per_s) {
  return {name, 1 / (3 * bytes), bytes_per_s / (3 * bytes)};
}

float paint_idea_roofline(Sketch& sketch, PlotPoint at, float width) {
  const DeviceRates& a100 = rates_of("A100");
  const double memory = a100.element_tb_per_s * 1e12;
  RooflineChart roofline;
  roofline.bytes_per_s = memory;
  roofline.roofs = {
      {"16 bits", a100.peak_16 * 1e12}, {"TF32", a100.peak_tf32 * 1e12}, {"fp32", a100.peak_fp32 * 1e12}};
  roofline.points = {
      sum_point("residual addition, fp32", 4, memory), sum_point("residual addition, 16 bits", 2, memory),
      product_point("first product of the MLP of base, fp32", 4, a100.peak_fp32 * 1e12, memory),
      product_point("the same product, 16 bits", 2, a100.peak_16 * 1e12, memory)};
  at.y = paint_roofline(sketch, roofline, at, width);
  return sketch.words({at.x, at.y + sketch.px(2)}, width,
                      "Left of the bend memory is the limit, and half the bytes are twice the speed. Right "
                      "of it arithmetic is: a type "
                      "with a higher roof is worth more there.");
}

}  // namespace

Drawing type_ranges_picture() {
  return {"What each type can hold, and where gradients lie",
          "gradients recorded in step 40 of 04_amp: cpu_tiny, fp16, on a CPU",
          "A histogram of gradients by their power of two, and below it a bar for each of fp32, tf32, bf16 "
          "and fp16 on the same axis. "
          "The bars of fp32, tf32 and bf16 reach from about 2^-126 to 2^128. That of fp16 reaches from 2^-14 "
          "to 2^16, with fewer "
          "digits down to 2^-24. The loss scale moves the histogram 16 powers to the right, into that range.",
          paint_idea_ranges};
}

Drawing roofline_picture() {
  return {"Roofline of an A100-40GB",
          "by formula: min(peak, bandwidth x FLOP for each byte); peaks of its data sheet, 1.35 TB/s for "
          "element-wise kernels",
          "FLOP per second over FLOP per byte, both logarithmic. A slope, the memory's bandwidth, meets "
          "three level roofs: 19.5 TFLOP/s "
          "in fp32, 156 in TF32, 312 in 16 bits. A residual addition lies far down on the slope; a matrix "
          "product lies under the roofs.",
          paint_idea_roofline};
}

}  // namespace isobar
