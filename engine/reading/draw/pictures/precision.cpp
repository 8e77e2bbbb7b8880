// Lesson 04: what types can hold.
#include <array>

#include "draw/pictures/pictures.h"
#include "draw/type_ranges.h"

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

}  // namespace isobar
